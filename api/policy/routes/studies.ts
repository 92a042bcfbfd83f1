import { performance } from 'node:perf_hooks';
import { Readable } from 'node:stream';
import { z } from 'zod';
import { policyBundle, type PolicyInput } from '../../../contracts/policy.js';
import type { MineLine } from '../../../contracts/policy-mining.js';
import {
  explainedVerdict,
  type LabLine,
  policyLab,
  recordedVerdict,
  replayedVerdict,
} from '../../../contracts/policy-studies.js';
import { labOver } from '../../../domain/policy/lab-over.js';
import { errorText, GateError } from '../../../domain/errors.js';
import { EVERYBODY } from '../../../domain/policy/library-ports.js';
import { toldExplanation } from '../../../domain/policy/explain/told.js';
import type { PolicySet } from '../../../domain/policy/policy-set.js';
import { comparedIn } from '../../../domain/replay/comparisons.js';
import type { ServiceApp } from '../../plugins/app.js';
import { managedBy, type PolicyManagement } from '../management.js';
import { ofTenant } from './policies.js';

/** The largest request with everything that its rows say of it. */
const RECORDED_BODY_LIMIT = 16 * 1_048_576;
/** A folder of policies. */
const LAB_BODY_LIMIT = 64 * 1_048_576;
/** They share the threads, and each holds two pages of recorded calls. */
const MOST_LABS = 2;

/** What rules say of calls that were judged before. Nothing of it changes anything, and nothing of it is stored. */
export function policyStudyRoutes(app: ServiceApp, floor: PolicySet, management: PolicyManagement | null): void {
  const managed = () => managedBy(management);
  app.post(
    '/policies/replay',
    { bodyLimit: RECORDED_BODY_LIMIT, schema: { body: recordedVerdict, response: { 200: replayedVerdict } } },
    async ({ body }) => {
      const { live, studies } = managed();
      const bundle = policyBundle.safeParse(body.decision['policy_bundle']);
      if (!bundle.success)
        throw new GateError('invalid_request', 'the decision does not say by which rules it was made');
      const { rules } = await live.judgedBy(tenantOf(body.input), bundle.data);
      return { policy_bundle: bundle.data, ...comparedIn(await studies.again(body, rules)) };
    },
  );
  app.post(
    '/policies/explain',
    { bodyLimit: RECORDED_BODY_LIMIT, schema: { body: recordedVerdict, response: { 200: explainedVerdict } } },
    async ({ body: { input, request, decision } }) => {
      const { live, studies, library } = managed();
      const tenant = tenantOf(input);
      const bundle = policyBundle.safeParse(decision['policy_bundle']);
      const then = bundle.success ? await unlessGone(live.judgedBy(tenant, bundle.data)) : null;
      const { rules, files } = then ?? live.judgingNow(tenant);
      const texts = [...floor.files, ...(await library.textsOf(tenant, files))];
      const found = {
        rules: then ? ('then' as const) : ('now' as const),
        policy_bundle: rules?.bundle ?? floor.bundle,
        ...(await studies.why({ input, request }, rules, texts)),
      };
      return { ...found, text: toldExplanation(found, input.tool_type) };
    },
  );

  let labs = 0;
  app.post(
    '/policies/lab',
    {
      bodyLimit: LAB_BODY_LIMIT,
      schema: {
        querystring: ofTenant,
        body: policyLab,
        response: { 200: { content: { 'application/x-ndjson': { schema: z.string() } } } },
      },
    },
    async ({ query: { tenant }, body }, reply) => {
      const { live, library, studies, recorded } = managed();
      if (!recorded) throw new GateError('store_unavailable', 'this process reads no recorded calls');
      const window = {
        from: timeOf(body.since),
        ...(body.until !== undefined && { to: timeOf(body.until) }),
        ...(tenant !== undefined && { tenant }),
        ...(body.agent_id !== undefined && { agentId: body.agent_id }),
        ...(body.tool_type !== undefined && { tool: body.tool_type }),
      };
      // Whoever left already would not be seen to leave.
      if (labs >= MOST_LABS || reply.raw.destroyed) throw new GateError('policy_lab_busy');
      labs += 1;
      // Also where the reader leaves; what is being judged then is judged to its end.
      reply.raw.once('close', () => void (labs -= 1));
      const scope = tenant ?? EVERYBODY;
      const { wasm, data, files } = await library.proposed(scope, body);
      const before = live.judgingNow(scope).rules;
      const after = wasm && (await live.tried(wasm, data, files));
      const known = {
        policy_bundle: before?.bundle ?? floor.bundle,
        candidate_bundle: after?.bundle ?? floor.bundle,
        warnings: [...(await library.missing(scope, body))],
      };
      const now = () => performance.now();
      const found = labOver({ source: recorded, studies, window, before, after, known, now });
      reply.type('application/x-ndjson; charset=utf-8');
      return reply.send(Readable.from(lines(found), { objectMode: false }) as never);
    },
  );
}

/** What a lab or mining finds, line by line. Ends with the result, or with why there is none: a stream that merely ends has none. */
export async function* lines(found: AsyncGenerator<LabLine | MineLine>): AsyncGenerator<string> {
  try {
    for await (const line of found) yield `${JSON.stringify(line)}\n`;
  } catch (error) {
    const known = error instanceof GateError ? error : new GateError('policy_unavailable', errorText(error));
    yield `${JSON.stringify({ error: { code: known.code, reason: known.message } } satisfies LabLine)}\n`;
  }
}

/** Whose rules an input is judged by. One that no tenant can have is judged by what holds for everybody, as in a call. */
const tenantOf = ({ tenant }: PolicyInput): string => ofTenant.safeParse({ tenant }).data?.tenant ?? EVERYBODY;

const INSTANT = z.iso.datetime({ offset: true });

export function timeOf(text: string): string {
  const ms = INSTANT.safeParse(text).success ? Date.parse(text) : Number.NaN;
  if (Number.isNaN(ms)) throw new GateError('invalid_window', 'a time is RFC 3339: 2026-01-02T03:04:05Z');
  return new Date(ms).toISOString();
}

async function unlessGone<Value>(asked: Promise<Value>): Promise<Value | null> {
  try {
    return await asked;
  } catch (error) {
    if (error instanceof GateError && error.code === 'bundle_gone') return null;
    throw error;
  }
}
