import { readFile } from 'node:fs/promises';
import { fileURLToPath } from 'node:url';
import type { Interceptor, InterceptingCall, StatusObject } from '@grpc/grpc-js';
import { Client, Connection, defaultGrpcRetryOptions, makeGrpcRetryInterceptor } from '@temporalio/client';
import type { DataConverter, Duration } from '@temporalio/common';
import { NativeConnection } from '@temporalio/worker';
import type { KeyRing } from '../domain/crypto/key-ring.js';
import { createEngineCircuit, type CircuitOptions, type EngineCircuit } from './circuit.js';
import { createPayloadCodec, type OnForeignPayload } from './codec.js';

/** How to reach the engine. Deployments use TLS files; on loopback in development there are none. */
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

/** Where client, worker and workflow bundle load the failure converter from: by path, because each loads its own copy. */
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
  /** Whether the engine answers, probed all the time. */
  readonly circuit: EngineCircuit;
  close(): Promise<void>;
}

/** How often a lost connection is tried again; by default gRPC waits up to two minutes. */
const RECONNECT = { 'grpc.initial_reconnect_backoff_ms': 100, 'grpc.max_reconnect_backoff_ms': 500 };

/** How long a connection may take on a machine that is busy with a start. */
const CONNECT_LIMIT = '10s';

/** A bare connection. gRPC compression is off: on loopback it costs processor time and saves nothing. */
export const connectEngine = async (
  address: EngineAddress,
  { interceptors, connectTimeout = CONNECT_LIMIT }: { interceptors?: Interceptor[]; connectTimeout?: Duration } = {},
): Promise<Connection> =>
  Connection.connect({
    address: address.address,
    tls: await tlsOf(address),
    connectTimeout,
    channelArgs: { 'grpc.default_compression_algorithm': 0, ...RECONNECT },
    ...(interceptors && { interceptors }),
  });

const CANCELLED = 1;
const UNAVAILABLE = 14;
const PROBE = '/GetSystemInfo';

/** A client whose payloads are sealed. When it is closed, pending retries end instead of using a closed channel. */
export async function connectClient(
  address: EngineAddress,
  keys: KeyRing,
  onChange?: CircuitOptions['onChange'],
): Promise<EngineClient> {
  let closed = false;
  let circuit: EngineCircuit | undefined;
  const retries = defaultGrpcRetryOptions();
  const retried = makeGrpcRetryInterceptor({
    ...retries,
    retryableDecider(attempt, status) {
      if (status.code === UNAVAILABLE) circuit?.suspect();
      return !closed && retries.retryableDecider(attempt, status);
    },
  });
  const connection = await connectEngine(address, {
    interceptors: [
      // The probe must answer first.
      (options, next) =>
        options.method_definition.path.endsWith(PROBE) ? (next(options) as InterceptingCall) : retried(options, next),
      (options, next) => (closed ? endedCall() : next(options)) as InterceptingCall,
    ],
  });
  const client = new Client({ connection, namespace: address.namespace, dataConverter: dataConverter(keys) });
  circuit = createEngineCircuit({
    probe: (deadlineMs) => connection.withDeadline(deadlineMs, () => connection.workflowService.getSystemInfo({})),
    ...(onChange && { onChange }),
  });
  return {
    client,
    circuit,
    async close() {
      closed = true;
      circuit.close();
      await connection.close();
    },
  };
}

export const connectNative = async (address: EngineAddress): Promise<NativeConnection> =>
  NativeConnection.connect({ address: address.address, tls: await tlsOf(address) });

/** A call that is cancelled before it begins. */
function endedCall(): Pick<InterceptingCall, 'start' | 'sendMessage' | 'halfClose' | 'cancelWithStatus' | 'getPeer'> {
  return {
    start(metadata, listener) {
      const status = { code: CANCELLED, details: 'the connection was closed', metadata } satisfies StatusObject;
      setImmediate(() => listener?.onReceiveStatus?.(status));
    },
    sendMessage: () => undefined,
    halfClose: () => undefined,
    cancelWithStatus: () => undefined,
    getPeer: () => 'nobody',
  };
}
