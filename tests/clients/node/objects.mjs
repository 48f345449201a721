// put, get and list as any application would; argv: bucket or ARN, key, endpoint (optional). Prints JSON.
import { GetObjectCommand, ListObjectsV2Command, PutObjectCommand, S3Client } from "@aws-sdk/client-s3";
import "@aws-sdk/signature-v4a";

const [Bucket, Key, endpoint] = process.argv.slice(2);
const s3 = new S3Client({ maxAttempts: 1, ...(endpoint ? { endpoint } : {}) });
const put = await s3.send(new PutObjectCommand({ Bucket, Key, Body: "from node" }));
const got = await (await s3.send(new GetObjectCommand({ Bucket, Key }))).Body.transformToString();
const listed = (await s3.send(new ListObjectsV2Command({ Bucket, Prefix: Key }))).Contents.map((row) => row.Key);
const missing = await s3.send(new GetObjectCommand({ Bucket, Key: `${Key}/none` })).catch((refusal) => refusal.name);
console.log(JSON.stringify({ put: put.$metadata.httpStatusCode, got, listed, missing }));
