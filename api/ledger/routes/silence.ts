import { z } from 'zod';
import { allowSilence, silenceEntry } from '../../../contracts/cases.js';
import { GateError } from '../../../domain/errors.js';
import type { SilenceAllowlist } from '../../../adapters/evidence/silence/silence-allowlist.js';
import type { ServiceApp } from '../../plugins/app.js';

/**
 * Agents whose silence is expected (docs/architecture/ledger-reads.md#watchdogs). The calling service is recorded as the author of an
 * entry.
 */
export function silenceRoutes({
  app,
  silence,
}: {
  readonly app: ServiceApp;
  readonly silence: SilenceAllowlist;
}): void {
  app.get(
    '/silence-allowlist',
    { schema: { response: { 200: z.object({ entries: z.array(silenceEntry) }) } } },
    async () => ({ entries: await silence.list() }),
  );

  app.post(
    '/silence-allowlist',
    { schema: { body: allowSilence, response: { 200: silenceEntry, 201: silenceEntry } } },
    async (request, reply) => {
      const { agent_id, reason, source } = request.body;
      const created = await silence.allow({ agent_id, reason, source, created_by: request.caller?.callerId ?? '' });
      const entry = (await silence.list()).find((listed) => listed.agent_id === agent_id);
      if (!entry) throw new GateError('not_found', 'the entry was removed in the same moment');
      return reply.code(created ? 201 : 200).send(entry);
    },
  );

  app.delete(
    '/silence-allowlist/:agent_id',
    { schema: { params: z.object({ agent_id: z.string().min(1).max(256) }), response: { 204: z.null() } } },
    async (request, reply) => {
      if (!(await silence.remove(request.params.agent_id)))
        throw new GateError('not_found', 'this agent is not on the list');
      return reply.code(204).send(null);
    },
  );
}
