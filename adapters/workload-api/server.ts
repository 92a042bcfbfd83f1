import { chmodSync, lstatSync, rmSync } from 'node:fs';
import { connect } from 'node:net';
import {
  type handleServerStreamingCall,
  type handleUnaryCall,
  type Metadata,
  Server,
  ServerCredentials,
  type ServerWritableStream,
  type ServiceDefinition,
  status,
} from '@grpc/grpc-js';
import { encodeJwtBundles, encodeX509Bundles, encodeX509Svids } from './messages.js';

/** What a workload has and trusts now. */
export interface WorkloadState {
  readonly trustDomain: string;
  /** `null` where none counts. */
  readonly svid: {
    readonly spiffe: string;
    /** The certificate, DER. */
    readonly certificate: Buffer;
    /** PKCS #8, DER. */
    readonly key: Buffer;
  } | null;
  /** The CAs that count, DER, one behind the other. */
  readonly authorities: Buffer;
  /** The keys of tokens as a JWK set; `null` until they are known. */
  readonly tokenKeys: string | null;
}

export interface WorkloadSource {
  now(): WorkloadState;
  /** Told when something of it is another; the answer ends that. */
  onChanged(listener: () => void): () => void;
}

export interface WorkloadApi {
  /** Ends every stream, and takes the socket away. */
  close(): Promise<void>;
}

/** Every request has it (SPIFFE Workload Endpoint, 4): a browser, or a server that passes requests on, cannot be made to send it. */
const HEADER = 'workload.spiffe.io';
/** Whoever may open the socket. */
const OWNER_ALONE = 0o600;
const MOST_REQUEST_BYTES = 65_536;
const MOST_STREAMS = 256;

interface Refused {
  readonly code: status;
  readonly details: string;
}
const NO_HEADER: Refused = {
  code: status.INVALID_ARGUMENT,
  details: `security header missing from request: ${HEADER}: true`,
};
const NO_TOKENS: Refused = { code: status.UNIMPLEMENTED, details: 'this workload has no JWT-SVID: Gate issues none' };

const isAsked = (metadata: Metadata): boolean => {
  const said = metadata.get(HEADER);
  return said.length === 1 && said[0] === 'true';
};

const NOTHING = Buffer.alloc(0);
const asBytes = { serialize: (bytes: Buffer) => bytes, deserialize: (bytes: Buffer) => bytes };
const method = (name: string, responseStream: boolean) => ({
  path: `/SpiffeWorkloadAPI/${name}`,
  requestStream: false,
  responseStream,
  requestSerialize: asBytes.serialize,
  requestDeserialize: asBytes.deserialize,
  responseSerialize: asBytes.serialize,
  responseDeserialize: asBytes.deserialize,
});
const SERVICE = {
  FetchX509SVID: method('FetchX509SVID', true),
  FetchX509Bundles: method('FetchX509Bundles', true),
  FetchJWTSVID: method('FetchJWTSVID', false),
  FetchJWTBundles: method('FetchJWTBundles', true),
  ValidateJWTSVID: method('ValidateJWTSVID', false),
} as const satisfies ServiceDefinition;

type Told = Buffer | Refused;

/** What each stream says; a refusal ends it, and its client asks again. */
const SAYS = {
  FetchX509SVID({ svid, authorities }: WorkloadState): Told {
    if (!svid)
      return {
        code: status.UNAVAILABLE,
        details: 'the certificate of this workload ended, and there is no other one yet',
      };
    const { spiffe, certificate, key } = svid;
    return encodeX509Svids({
      svids: [{ spiffe_id: spiffe, x509_svid: certificate, x509_svid_key: key, bundle: authorities }],
    });
  },
  FetchX509Bundles: ({ trustDomain, authorities }: WorkloadState): Told =>
    encodeX509Bundles({ bundles: { [`spiffe://${trustDomain}`]: authorities } }),
  FetchJWTBundles({ trustDomain, tokenKeys }: WorkloadState): Told {
    if (tokenKeys === null)
      return { code: status.UNAVAILABLE, details: 'identity has not said its keys of tokens yet' };
    return encodeJwtBundles({ bundles: { [`spiffe://${trustDomain}`]: Buffer.from(tokenKeys) } });
  },
} as const;

/**
 * Answers the SPIFFE Workload API on a Unix socket, for one workload: whoever may open the socket has its key. That is its owner alone, as its
 * permissions say; Node tells nobody's credentials on a connection (docs/architecture/workload-api.md). Throws where somebody answers on it already.
 */
export async function serveWorkloadApi({
  socket,
  source,
}: {
  /** An absolute path. */
  readonly socket: string;
  readonly source: WorkloadSource;
}): Promise<WorkloadApi> {
  await removeLeft(socket);
  const server = new Server({
    'grpc.max_receive_message_length': MOST_REQUEST_BYTES,
    'grpc.max_concurrent_streams': MOST_STREAMS,
  });
  const streams = new Set<ServerWritableStream<Buffer, Buffer>>();
  const end = (call: ServerWritableStream<Buffer, Buffer>, refused: Refused): void => {
    streams.delete(call);
    call.emit('error', refused);
  };

  const streaming =
    (says: (state: WorkloadState) => Told): handleServerStreamingCall<Buffer, Buffer> =>
    (call) => {
      if (!isAsked(call.metadata)) return end(call, NO_HEADER);
      if (streams.size >= MOST_STREAMS)
        return end(call, { code: status.RESOURCE_EXHAUSTED, details: `${MOST_STREAMS} streams are open` });
      let last: Buffer = NOTHING;
      const say = (): void => {
        const told = says(source.now());
        if (!Buffer.isBuffer(told)) {
          forget();
          return end(call, told);
        }
        // The same again tells nobody anything.
        if (told.equals(last)) return;
        last = told;
        call.write(told);
      };
      const forget = source.onChanged(say);
      streams.add(call);
      call.once('cancelled', () => {
        forget();
        streams.delete(call);
        call.end();
      });
      say();
    };
  const withoutTokens: handleUnaryCall<Buffer, Buffer> = (call, answer) =>
    answer(isAsked(call.metadata) ? NO_TOKENS : NO_HEADER);
  server.addService(SERVICE, {
    FetchX509SVID: streaming(SAYS.FetchX509SVID),
    FetchX509Bundles: streaming(SAYS.FetchX509Bundles),
    FetchJWTBundles: streaming(SAYS.FetchJWTBundles),
    FetchJWTSVID: withoutTokens,
    ValidateJWTSVID: withoutTokens,
  });

  // From its first moment: what is made with these permissions is never open to others.
  const before = process.umask(0o177);
  try {
    await new Promise<void>((resolve, reject) =>
      server.bindAsync(`unix:${socket}`, ServerCredentials.createInsecure(), (error) =>
        error ? reject(error) : resolve(),
      ),
    );
  } finally {
    process.umask(before);
  }
  chmodSync(socket, OWNER_ALONE);
  return {
    async close() {
      for (const call of streams) end(call, { code: status.UNAVAILABLE, details: 'the Workload API ends' });
      await new Promise<void>((resolve) => server.tryShutdown(() => resolve()));
      rmSync(socket, { force: true });
    },
  };
}

/** A socket that a process left which was killed. One on which somebody answers stays, as anything does that is no socket. */
async function removeLeft(socket: string): Promise<void> {
  const there = lstatSync(socket, { throwIfNoEntry: false });
  if (!there) return;
  if (!there.isSocket()) throw new Error(`${socket} is there, and is no socket`);
  const answers = await new Promise<boolean>((resolve) => {
    const connection = connect(socket);
    connection.once('connect', () => {
      connection.destroy();
      resolve(true);
    });
    connection.once('error', ({ code }: NodeJS.ErrnoException) => resolve(code !== 'ECONNREFUSED'));
  });
  if (answers) throw new Error(`${socket}: another process answers on it`);
  rmSync(socket);
}
