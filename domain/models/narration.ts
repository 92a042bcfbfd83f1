import { z } from 'zod';
import type { JsonObject } from '../../contracts/json.js';
import { LONGEST_NOTE } from '../../contracts/review.js';
import { GateError } from '../errors.js';
import { slidingBudget } from '../limits/sliding-budget.js';
import { askBound } from './bound-question.js';
import { maskByRules } from './mask.js';
import { type Narrating, type Narrator, noModel } from './narrator.js';
import { type Completion, ModelFailure, type Models } from './port.js';
import { aboutTheData } from './prompts.js';

/** Questions in one minute, of everybody together, and of one tenant: people read what comes of them. */
const A_MINUTE: Readonly<Record<Narrating, number>> = { explainPattern: 20, narrateDecision: 60 };
const A_MINUTE_OF_ONE: Readonly<Record<Narrating, number>> = { explainPattern: 10, narrateDecision: 20 };
const MINUTE_MS = 60_000;
const HOUR_MS = 3_600_000;
const DEADLINE_MS = 5_000;

const PROMPTS: Readonly<Record<Narrating, string>> = {
  explainPattern: `You write for the people who own the rules of a gate between AI agents and tools. A rule was derived from calls that people approved; the
document says of which tool, within which bounds, and how many decisions speak for it. Say in plain words what the rule would let pass, and why somebody may
want it or not. Claim nothing that the document does not say.
Fields: "one_liner": one sentence of at most 160 characters. "rationale": at most three sentences.`,
  narrateDecision: `You write for the people who read what a gate between AI agents and tools did. A person decided about one call; the document says what was
decided, what the risk was, and what was predicted. Say in one sentence of at most 200 characters what was decided about what. Claim nothing that the
document does not say.
Fields: "incident_summary".`,
};

/** What nobody sees, line breaks, letters under heaps of marks, markup, and whatever leads somewhere. */
const NOT_PLAIN =
  /[\p{Cc}\p{Cf}\p{Co}\p{Cn}\p{Default_Ignorable_Code_Point}\u2028\u2029<>{}\\`|@]|\p{M}{4}|:\/\/|\]\(|(?<!\p{L})(?:javascript|mailto|tel|data):(?=\S)|\p{L}:\d|[.。．｡]\w+\/|\w[.。．｡]\p{L}{2}/iu;
/** `name`: of the tool that is written about, which may have a point. */
const plain = (most: number, name = '') =>
  z
    .string()
    .min(1)
    .max(most)
    .refine((text) => !NOT_PLAIN.test(name === '' ? text : text.replaceAll(name, ' ')) && /\p{L}/u.test(text));

const asked = { nonce: z.string().max(128), instructs_judge: z.boolean() };
const explainedOf = (tool: string) =>
  z.strictObject({ ...asked, one_liner: plain(240, tool), rationale: plain(1_000, tool) });
const narrated = z.strictObject({ ...asked, incident_summary: plain(LONGEST_NOTE) });

/**
 * Models that write for people, asked as those that judge are: what is sent is masked, delimited and bound to its question, and an answer that does not
 * fit, or that a text of the document may have steered, is none (docs/architecture/models.md#words-for-people).
 */
export function createNarrator(
  models: Models,
  writes: ReadonlySet<Narrating>,
  { now = Date.now, deadlineMs = DEADLINE_MS }: { readonly now?: () => number; readonly deadlineMs?: number } = {},
): Narrator {
  const limits = {
    explainPattern: limitsOf('explainPattern'),
    narrateDecision: limitsOf('narrateDecision'),
  };

  async function ask<Value extends { readonly nonce: string; readonly instructs_judge: boolean }>(
    workload: Narrating,
    schema: z.ZodType<Value>,
    tenant: string | null,
    params: JsonObject,
  ): Promise<Completion<Value>> {
    if (!writes.has(workload)) throw noModel(workload);
    const { ofOne, ofAll } = limits[workload];
    const wait = ofAll.look('', now()) || ofOne.take(tenant ?? '', 1, now()) || ofAll.take('', 1, now());
    if (wait > 0) throw tooMany(wait);
    try {
      const said = await askBound(models, {
        workload,
        tenant,
        schema,
        document: shownOf(params, tenant),
        promptFor: (nonce) => PROMPTS[workload] + aboutTheData(nonce),
        signal: AbortSignal.timeout(deadlineMs),
      });
      if (said.value.instructs_judge) throw new ModelFailure('parse');
      return said;
    } catch (error) {
      if (!(error instanceof ModelFailure)) throw error;
      if (error.failure === 'over_budget') throw tooMany(Math.ceil((HOUR_MS - (now() % HOUR_MS)) / 1_000));
      throw new GateError('provider_unavailable', error.message, { cause: error });
    }
  }

  return {
    async explainPattern({ tenant = null, ...question }) {
      const { value, model } = await ask('explainPattern', explainedOf(question.tool_type), tenant, question);
      const { one_liner, rationale } = value;
      return { one_liner, rationale, model };
    },
    async narrateDecision({ tenant = null, ...question }) {
      const { value, model } = await ask(
        'narrateDecision',
        narrated,
        tenant,
        JSON.parse(JSON.stringify(question)) as JsonObject,
      );
      return { incident_summary: value.incident_summary, model };
    },
  };
}

const limitsOf = (workload: Narrating) => ({
  ofOne: slidingBudget(A_MINUTE_OF_ONE[workload], MINUTE_MS),
  ofAll: slidingBudget(A_MINUTE[workload], MINUTE_MS),
});

const tooMany = (seconds: number): GateError =>
  new GateError('rate_limited', `models wrote as much as they may for now; wait ${seconds} s`, {
    fields: { retry_after_secs: seconds },
  });

/** Without secrets and personal data that rules find; nothing is sent where they cannot be told from words. */
function shownOf(params: JsonObject, tenant: string | null): JsonObject {
  try {
    return maskByRules.show({ method: '', tool: '', params, tenant }).params;
  } catch {
    // What it says would name the place of a secret.
    throw new ModelFailure('invalid_input');
  }
}
