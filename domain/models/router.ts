import { z } from 'zod';
import { parseStrictJson } from '../mcp/strict-json.js';
import {
  type Completion,
  type Failure,
  type ModelClient,
  ModelFailure,
  type ModelReply,
  type Models,
  NARRATING,
  type Question,
  type Workload,
} from './port.js';
import { createProviderGuard, type GuardStanding, type ProviderGuard, steadyNow } from './provider-guard.js';
import { type AttemptOutcome, createProviderRecord, type ProviderRecord } from './provider-record.js';
import { costOf, nameOfTarget, type Routing, type Target } from './routing.js';

/** What became of one attempt. */
export interface Attempt {
  readonly workload: Workload;
  /** `alias:model`. */
  readonly model: string;
  readonly outcome: AttemptOutcome;
  readonly costMicros: number;
}

/** How one provider of the file stands, and what it was asked lately. */
export type ProviderStanding = { readonly name: string } & GuardStanding & ReturnType<ProviderRecord['told']>;

/** Models of a file, which also say how their providers stand. */
export interface RoutedModels extends Models {
  /** As it is for this tenant. Asks nobody. */
  standing(tenant: string | null): readonly ProviderStanding[];
}

export interface RouterOptions {
  readonly routing: Routing;
  /** By the provider's alias in the file. */
  readonly clients: Readonly<Record<string, ModelClient>>;
  readonly observe?: (attempt: Attempt) => void;
  /** Milliseconds since 1970. */
  readonly now?: () => number;
}

/** A byte is at most one token, and so much is around the texts. */
const TOKENS_AROUND = 256;
/** The provider's own side of the failures that count against it. */
const PROVIDER_FAILS: ReadonlySet<Failure> = new Set(['connect', 'unavailable', 'ambiguous_transport']);
/** Says nothing about whether the provider answers. */
const SAYS_NOTHING: ReadonlySet<Failure> = new Set(['rate_limited', 'held_back', 'over_budget', 'no_key']);

/** What the attempts at one question cost: those that are over, and at most those that are not. */
interface Tally {
  paid: number;
  open: number;
}

/** What judges no call leaves a tenth of a provider's budget to what does. */
const SHARE_OF_WORDS = 0.9;
const WRITES: ReadonlySet<Workload> = new Set(NARRATING);

/**
 * Asks the model that the file names for a workload and, where the rules allow it, those that stand in for it, each once
 * (docs/architecture/models.md#another-model).
 */
export function createModels({
  routing,
  clients,
  observe = () => undefined,
  now = steadyNow,
}: RouterOptions): RoutedModels {
  const guards: Readonly<Record<string, ProviderGuard>> = Object.fromEntries(
    Object.entries(routing.providers).map(([alias, { budget }]) => [alias, createProviderGuard({ budget, now })]),
  );
  const records: Readonly<Record<string, ProviderRecord>> = Object.fromEntries(
    Object.keys(routing.providers).map((alias) => [alias, createProviderRecord(now)]),
  );

  /** One attempt at one target. */
  async function tryOnce<Value>(
    question: Question<Value>,
    target: Target,
    schema: Readonly<Record<string, unknown>>,
    signal: AbortSignal,
    tally: Tally,
  ): Promise<Omit<Completion<Value>, 'costMicros'>> {
    const { workload, system, data } = question;
    const say = (outcome: AttemptOutcome, costMicros: number): void => {
      records[target.provider]?.add(outcome);
      observe({ workload, model: nameOfTarget(target), outcome, costMicros });
    };
    const [client, guard] = [clients[target.provider], guards[target.provider]];
    if (!client || !guard) throw new ModelFailure('unsupported');
    const mostMicros = costOf(target.price, {
      inputTokens: Buffer.byteLength(system) + Buffer.byteLength(data) + TOKENS_AROUND,
      outputTokens: target.maxOutputTokens,
    });
    let reservation;
    try {
      reservation = guard.reserve(question.tenant, mostMicros, WRITES.has(workload) ? SHARE_OF_WORDS : 1);
    } catch (error) {
      say(failureOf(error).failure, 0);
      throw error;
    }
    tally.open += mostMicros;
    const over = (costMicros: number): void => {
      tally.open -= mostMicros;
      tally.paid += costMicros;
      reservation.settle(costMicros);
    };
    try {
      const { model, maxOutputTokens } = target;
      const reply = await client.ask({ model, system, data, schema, maxOutputTokens, signal });
      // A provider that does not say what it counted has perhaps counted the most.
      const costMicros = reply.usage ? costOf(target.price, reply.usage) : mostMicros;
      const value = readValue(question.schema, reply, costMicros);
      over(costMicros);
      reservation.ended('answers');
      say('answered', costMicros);
      return { value, usage: reply.usage, model: nameOfTarget(target) };
    } catch (error) {
      const { failure, options } = failureOf(error);
      const costMicros =
        options.costMicros ??
        (options.usage ? costOf(target.price, options.usage) : options.unknownCost ? mostMicros : 0);
      over(costMicros);
      // Who hung up, or was overtaken, says nothing of the provider; a question's own deadline does. What only writes for people closes it to no judge.
      const isAbandoned = signal.aborted && (signal.reason as Error | undefined)?.name !== 'TimeoutError';
      if (signal.aborted) reservation.ended('unknown');
      else reservation.ended(PROVIDER_FAILS.has(failure) ? 'fails' : SAYS_NOTHING.has(failure) ? 'unknown' : 'answers');
      say(isAbandoned ? 'abandoned' : failure, costMicros);
      throw new ModelFailure(failure, options);
    }
  }

  return {
    async complete<Value>(question: Question<Value>): Promise<Completion<Value>> {
      const route = routing.workloads[question.workload];
      if (!route) throw new ModelFailure('unsupported');
      const schema = enforcedSchema(question.schema);
      const ended = new AbortController();
      const signal = question.signal ? AbortSignal.any([question.signal, ended.signal]) : ended.signal;
      const tally: Tally = { paid: 0, open: 0 };
      type Answer = Omit<Completion<Value>, 'costMicros'>;
      const attempt = (target: Target): Promise<Answer> => tryOnce(question, target, schema, signal, tally);
      /** The targets one after the other, as long as each failed in a way that lets another one be asked. */
      const inOrder = async (targets: readonly Target[]): Promise<Answer> => {
        let last = new ModelFailure('unsupported');
        for (const target of targets) {
          try {
            return await attempt(target);
          } catch (error) {
            last = failureOf(error);
            // Nobody waits any more for whoever would be asked next.
            if (!last.transient || signal.aborted) break;
          }
        }
        throw last;
      };
      try {
        const { targets, hedgeAfterMs } = route;
        const [primary, ...others] = targets;
        const answer =
          hedgeAfterMs === undefined || others.length === 0
            ? await inOrder(targets)
            : await hedged(
                () => attempt(primary),
                () => inOrder(others),
                hedgeAfterMs,
              );
        return { ...answer, costMicros: tally.paid + tally.open };
      } catch (error) {
        throw new ModelFailure(failureOf(error).failure, { costMicros: tally.paid + tally.open });
      } finally {
        // Whoever still works on it is told to stop.
        ended.abort();
      }
    },
    standing: (tenant) =>
      Object.entries(guards).flatMap(([name, guard]) => {
        const record = records[name];
        return record ? [{ name, ...guard.standing(tenant), ...record.told() }] : [];
      }),
  };
}

/**
 * The primary alone; the others beside it once it has taken `afterMs`, or at once where it failed in a way that lets them be asked. The first
 * value wins. What the primary says against it is final, also while the others are at work.
 */
function hedged<Value>(primary: () => Promise<Value>, others: () => Promise<Value>, afterMs: number): Promise<Value> {
  return new Promise((resolve, reject) => {
    let second: Promise<unknown> | undefined;
    let primaryFailure: ModelFailure | undefined;
    let othersFailure: ModelFailure | undefined;
    const begin = (): void => {
      second ??= others().then(resolve, (error: unknown) => {
        othersFailure = failureOf(error);
        if (primaryFailure) reject(othersFailure);
      });
    };
    const timer = setTimeout(begin, afterMs);
    primary()
      .then(resolve, (error: unknown) => {
        primaryFailure = failureOf(error);
        if (!primaryFailure.transient || othersFailure) reject(primaryFailure);
        else begin();
      })
      .finally(() => clearTimeout(timer));
  });
}

const failureOf = (error: unknown): ModelFailure =>
  error instanceof ModelFailure ? error : new ModelFailure('ambiguous_transport', { unknownCost: true });

/** The whole reply is one JSON value that fits the schema, or there is none. */
function readValue<Value>(schema: z.ZodType<Value>, { text, usage }: ModelReply, costMicros: number): Value {
  let json: unknown;
  try {
    json = parseStrictJson(text.trim());
  } catch {
    throw new ModelFailure('parse', { usage, costMicros });
  }
  const read = schema.safeParse(json);
  if (!read.success) throw new ModelFailure('parse', { usage, costMicros });
  return read.data;
}

/** What providers do not enforce, or refuse; all of it is checked here in any case. A value that is fixed must come from the model itself. */
const NOT_ENFORCED = ['$schema', 'minLength', 'maxLength', 'minimum', 'maximum', 'maxItems', 'minItems', 'pattern'];
const schemas = new WeakMap<z.ZodType, Readonly<Record<string, unknown>>>();
function enforcedSchema(schema: z.ZodType): Readonly<Record<string, unknown>> {
  const known = schemas.get(schema);
  if (known) return known;
  const made = z.toJSONSchema(schema, {
    io: 'input',
    override({ jsonSchema }) {
      const written = jsonSchema as Record<string, unknown>;
      for (const name of NOT_ENFORCED) delete written[name];
      delete written['const'];
    },
  }) as Record<string, unknown>;
  schemas.set(schema, made);
  return made;
}
