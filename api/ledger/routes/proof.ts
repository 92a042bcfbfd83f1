import { z } from 'zod';
import { consistencyProof, cosignResult, inclusionProof } from '../../../contracts/ledger-proof.js';
import { GateError } from '../../../domain/errors.js';
import { parseCheckpoint } from '../../../domain/ledger/tlog/checkpoint.js';
import type { TransparencyLog } from '../../../adapters/ledger/tlog/transparency-log.js';
import type { ServiceApp } from '../../plugins/app.js';
import { type SharedWalk, sharesWalks } from '../shared-walk.js';
import { answersAs } from '../../plugins/openapi.js';

const count = z.coerce.number().int().min(0).max(Number.MAX_SAFE_INTEGER);
const inclusionQuery = z
  .object({
    seq: count.min(1).optional(),
    id: z.uuid().optional(),
    entry_hash: z
      .string()
      .regex(/^[0-9a-f]{64}$/)
      .optional(),
    size: count.optional(),
  })
  .refine(
    ({ seq, id, entry_hash }) => [seq, id, entry_hash].filter((name) => name !== undefined).length === 1,
    'name the entry by seq, by id or by entry_hash',
  );
/** Enough for a checkpoint with the lines of a few dozen witnesses. */
const NOTE_BYTES = 65_536;
const NOTE = 'text/plain; charset=utf-8';

/**
 * The ledger as a transparency log (C2SP tlog-checkpoint, RFC 6962): checkpoints, proofs, cosignatures of witnesses. Without a signing key
 * all of them answer `signing_unavailable`.
 */
export function proofRoutes({
  app,
  transparency,
  sharedWalk,
}: {
  readonly app: ServiceApp;
  readonly transparency: TransparencyLog | null;
  readonly sharedWalk: SharedWalk;
}): void {
  const log = (): TransparencyLog => {
    if (!transparency)
      throw new GateError('signing_unavailable', 'set GATE_LEDGER_CHECKPOINT_KEY_FILE to sign checkpoints');
    return transparency;
  };

  app.get(
    '/checkpoint',
    {
      config: { public: true, ...answersAs('text/plain') },
      schema: { response: { 200: z.string() } },
      serializerCompiler: () => String,
    },
    // After an invalid walk, every checkpoint starts with a full walk.
    async (request, reply) => reply.type(NOTE).send(await sharedWalk(request, 'checkpoint', () => log().checkpoint())),
  );

  app.get(
    '/proof/inclusion',
    { schema: { querystring: inclusionQuery, response: { 200: inclusionProof } } },
    ({ query: { seq, id, entry_hash, size } }) =>
      log().inclusion(
        id !== undefined ? { id } : entry_hash !== undefined ? { entry_hash } : { seq: Number(seq) },
        size,
      ),
  );

  app.get(
    '/proof/consistency',
    {
      config: { public: true },
      schema: { querystring: z.object({ from: count, to: count.optional() }), response: { 200: consistencyProof } },
    },
    async (request) => {
      const { from, to } = request.query;
      if (!sharesWalks(request)) return log().consistency(from, to);
      // Below a known head, a proof is a few reads of stored nodes. What walks the chain is finding a newer head, and agents share that.
      const { size } = parseCheckpoint(await sharedWalk(request, 'checkpoint', () => log().checkpoint()));
      if (to !== undefined && to > size)
        throw new GateError('proof_out_of_range', `take 0 <= from <= to <= ${size}, the size of GET /checkpoint`);
      return log().consistency(from, to ?? size);
    },
  );

  void app.register((child, _options, done) => {
    const scope = child as unknown as ServiceApp;
    scope.addContentTypeParser('text/plain', { parseAs: 'string' }, (_request, body, parsed) => parsed(null, body));
    scope.post(
      '/checkpoint/cosignatures',
      { bodyLimit: NOTE_BYTES, schema: { body: z.string(), response: { 200: cosignResult } } },
      (request) => log().cosign(request.body),
    );
    done();
  });
}
