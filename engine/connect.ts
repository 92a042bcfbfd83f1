import { readFile } from 'node:fs/promises';
import { fileURLToPath } from 'node:url';
import { Client, Connection } from '@temporalio/client';
import type { DataConverter } from '@temporalio/common';
import { NativeConnection } from '@temporalio/worker';
import type { KeyRing } from '../domain/crypto/key-ring.js';
import { createPayloadCodec, type OnForeignPayload } from './codec.js';

/** How to reach the engine. TLS files are given in deployment; on loopback in development there is none. */
export interface EngineAddress {
  readonly address: string;
  readonly namespace: string;
  readonly tls?: {
    readonly caFile: string;
    readonly certFile: string;
    readonly keyFile: string;
    readonly serverName?: string;
  };
}

/** Where client, worker and workflow bundle load the failure converter from: by path, each into its own world. */
export const failureConverterPath = fileURLToPath(new URL('./failure-converter.js', import.meta.url));

export const dataConverter = (keys: KeyRing, onForeign?: OnForeignPayload): DataConverter => ({
  payloadCodecs: [createPayloadCodec(keys, onForeign)],
  failureConverterPath,
});

async function tlsOf({ tls }: EngineAddress) {
  if (!tls) return false as const;
  const [ca, crt, key] = await Promise.all([readFile(tls.caFile), readFile(tls.certFile), readFile(tls.keyFile)]);
  return {
    serverRootCACertificate: ca,
    clientCertPair: { crt, key },
    ...(tls.serverName && { serverNameOverride: tls.serverName }),
  };
}

export interface EngineClient {
  readonly client: Client;
  close(): Promise<void>;
}

/** A bare connection. gRPC compression is off: on loopback it costs 15 % and saves nothing (DESIGN section 6). */
export const connectEngine = async (address: EngineAddress): Promise<Connection> =>
  Connection.connect({
    address: address.address,
    tls: await tlsOf(address),
    connectTimeout: '10s',
    channelArgs: { 'grpc.default_compression_algorithm': 0 },
  });

/** A client whose payloads are sealed. */
export async function connectClient(address: EngineAddress, keys: KeyRing): Promise<EngineClient> {
  const connection = await connectEngine(address);
  const client = new Client({ connection, namespace: address.namespace, dataConverter: dataConverter(keys) });
  return { client, close: () => connection.close() };
}

export const connectNative = async (address: EngineAddress): Promise<NativeConnection> =>
  NativeConnection.connect({ address: address.address, tls: await tlsOf(address) });
