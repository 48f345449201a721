// How does the AWS SDK for JavaScript reach a place? It brings its own https.Agent and reads no proxy variable, so this
// preload (node --require) sends every https and http request through HTTPS_PROXY / HTTP_PROXY. No dependency, no change in
// the application. Loaded by `atoll exec --node` and printed by `atoll env --node`.
'use strict';
const http = require('http');
const https = require('https');
const tls = require('tls');

const secureProxy = process.env.HTTPS_PROXY && new URL(process.env.HTTPS_PROXY);
const plainProxy = process.env.HTTP_PROXY && new URL(process.env.HTTP_PROXY);

class TunnelAgent extends https.Agent {
  createConnection(options, done) {
    const authority = `${options.host}:${options.port || 443}`;
    const connect = http.request({
      host: secureProxy.hostname, port: secureProxy.port, method: 'CONNECT', path: authority,
      headers: { host: authority }, agent: false, atollDirect: true,
    });
    connect.once('connect', (answer, socket) => {
      if (answer.statusCode !== 200) {
        socket.destroy();
        done(new Error(`CONNECT ${authority} through ${secureProxy.host}: ${answer.statusCode}`));
        return;
      }
      const secured = tls.connect({ ...options, socket, servername: options.servername || options.host, ALPNProtocols: ['http/1.1'] });
      secured.once('secureConnect', () => done(null, secured));
      secured.once('error', done);
    });
    connect.once('error', done);
    connect.end();
  }
}

function given(args) {
  // (options), (url), (url, options), each with an optional callback behind
  const callback = typeof args[args.length - 1] === 'function' ? args.pop() : undefined;
  const [first, second] = args;
  const fromUrl = typeof first === 'string' || first instanceof URL ? new URL(first) : undefined;
  const options = fromUrl
    ? { protocol: fromUrl.protocol, hostname: fromUrl.hostname, port: fromUrl.port, path: fromUrl.pathname + fromUrl.search, ...second }
    : { ...first };
  return [options, callback];
}

if (secureProxy) {
  const request = https.request;
  // one agent per agent of the application: its keep-alive and socket limits stay what the application chose
  const agents = new WeakMap();
  const ours = (agent) => {
    const theirs = agent instanceof https.Agent ? agent : https.globalAgent;
    if (theirs instanceof TunnelAgent) return theirs;
    if (!agents.has(theirs)) {
      agents.set(theirs, new TunnelAgent({ ...theirs.options, keepAlive: theirs.keepAlive, maxSockets: theirs.maxSockets }));
    }
    return agents.get(theirs);
  };
  https.request = function (...args) {
    const [options, callback] = given(args);
    return request.call(https, { ...options, agent: ours(options.agent) }, callback);
  };
  https.get = function (...args) { const sent = https.request(...args); sent.end(); return sent; };
}

if (plainProxy) {
  const request = http.request;
  const direct = new http.Agent({ keepAlive: true });  // the global one may have a proxy of its own (NODE_USE_ENV_PROXY)
  http.request = function (...args) {
    const [options, callback] = given(args);
    if (options.atollDirect || options.socketPath || options.method === 'CONNECT') return request.call(http, options, callback);
    const host = options.hostname || options.host || 'localhost';
    const authority = options.port && String(options.port) !== '80' ? `${host}:${options.port}` : host;
    return request.call(http, {
      ...options, agent: direct, hostname: plainProxy.hostname, host: plainProxy.hostname, port: plainProxy.port,
      path: `http://${authority}${options.path || '/'}`, headers: { host: authority, ...options.headers },
    }, callback);
  };
  http.get = function (...args) { const sent = http.request(...args); sent.end(); return sent; };
}

require('module').syncBuiltinESMExports();
