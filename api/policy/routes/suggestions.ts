import { performance } from 'node:perf_hooks';
import { Readable } from 'node:stream';
import { z } from 'zod';
import { tenantName } from '../../../contracts/erasure.js';
import { mutatedPolicy, policyReason } from '../../../contracts/policy-library.js';
import { minedSuggestions, minePolicies } from '../../../contracts/policy-mining.js';
import { mineOver } from '../../../domain/policy/mining/mine.js';
import { GateError } from '../../../domain/errors.js';
import { createNameReader } from '../../../domain/money/money-names.js';
import { createMoneyFacts } from '../../../domain/money/read-money.js';
import type { PolicySet } from '../../../domain/policy/policy-set.js';
import type { ServiceApp } from '../../plugins/app.js';
import type { PolicyManagement } from '../management.js';
import { lines, timeOf } from './studies.js';

/** Always of one tenant: what one tenant's people approved says nothing for another. */
const ofOneTenant = z.strictObject({ tenant: tenantName });

/** Rules that people's own approvals suggest: found, kept, compared with what was decided since, and put in force by a person alone. */
export function policySuggestionRoutes(app: ServiceApp, floor: PolicySet, management: PolicyManagement | null): void {
  const managed = (): PolicyManagement & { readonly mining: NonNullable<PolicyManagement['mining']> } => {
    const mining = management?.mining;
    if (!management || !mining) throw new GateError('store_unavailable', 'this process reads no decisions of people');
    return { ...management, mining };
  };
  const readMoney = createMoneyFacts(createNameReader(floor.material.data.gate.money_arguments));
  let mines = false;
  app.post(
    '/policies/mine',
    {
      schema: {
        querystring: ofOneTenant,
        body: minePolicies,
        response: { 200: { content: { 'application/x-ndjson': { schema: z.string() } } } },
      },
    },
    async ({ query: { tenant }, body: { since, until, tool_type: tool, max_candidates: most } }, reply) => {
      const { live, library, studies, mining } = managed();
      const at = new Date().toISOString();
      const window = { from: timeOf(since), to: until === undefined ? at : timeOf(until) };
      // It holds what it compares, and shares the threads of labs. Whoever left already would not be seen to leave.
      if (mines || reply.raw.destroyed) throw new GateError('policy_lab_busy');
      mines = true;
      reply.raw.once('close', () => void (mines = false));
      const found = mineOver({
        ...mining,
        studies,
        readMoney,
        tenant,
        window,
        tool,
        most,
        at,
        rules: live.judgingNow(tenant).rules,
        async withRules(files) {
          const { wasm, data, files: all } = await library.proposed(tenant, { files, without: [] });
          return wasm && live.tried(wasm, data, all);
        },
        now: () => performance.now(),
      });
      reply.type('application/x-ndjson; charset=utf-8');
      return reply.send(Readable.from(lines(found), { objectMode: false }) as never);
    },
  );
  app.get(
    '/policies/suggestions',
    { schema: { querystring: ofOneTenant, response: { 200: minedSuggestions } } },
    async ({ query: { tenant } }) => ({ suggestions: [...(await managed().mining.suggestions.list(tenant))] }),
  );
  app.post(
    '/policies/suggestions/:id/install',
    {
      schema: {
        params: z.strictObject({ id: z.uuid().lowercase() }),
        querystring: ofOneTenant,
        body: policyReason,
        response: { 200: mutatedPolicy },
      },
    },
    ({ params: { id }, query: { tenant }, body }) => managed().mining.suggestions.install(tenant, id, body),
  );
}
