// A Multi-Region Access Point is made, awaited and steered; argv: account, bucket, other bucket. Prints JSON.
import {
  CreateMultiRegionAccessPointCommand, GetMultiRegionAccessPointCommand, GetMultiRegionAccessPointRoutesCommand,
  S3ControlClient, SubmitMultiRegionAccessPointRoutesCommand,
} from "@aws-sdk/client-s3-control";
import "@aws-sdk/signature-v4a";
import { setTimeout } from "node:timers/promises";

const [AccountId, one, other] = process.argv.slice(2);
const Name = "from-node";
const control = new S3ControlClient({ region: "us-west-2", maxAttempts: 1 });
await control.send(new CreateMultiRegionAccessPointCommand({
  AccountId, ClientToken: Name, Details: { Name, Regions: [{ Bucket: one }, { Bucket: other }] },
}));
let point;
do {
  await setTimeout(50);
  point = (await control.send(new GetMultiRegionAccessPointCommand({ AccountId, Name }))).AccessPoint;
} while (point.Status === "CREATING");
const Mrap = `arn:aws:s3::${AccountId}:accesspoint/${point.Alias}`;
const routes = new S3ControlClient({ region: "us-east-1", maxAttempts: 1 });
await routes.send(new SubmitMultiRegionAccessPointRoutesCommand({ AccountId, Mrap, RouteUpdates: [{ Bucket: one, TrafficDialPercentage: 0 }] }));
const told = await routes.send(new GetMultiRegionAccessPointRoutesCommand({ AccountId, Mrap }));
const dials = Object.fromEntries(told.Routes.map((route) => [route.Bucket, route.TrafficDialPercentage]));
console.log(JSON.stringify({ status: point.Status, dials }));
