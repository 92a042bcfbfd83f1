import type { z } from 'zod';

/** What a model judges. */
export const JUDGING = [
  'classifierFast',
  'classifierDeep',
  'injection',
  'maliciousCode',
  'compromisedPackage',
] as const;
/** What a model reads of what tools answer. */
export const READING = ['scanResponse'] as const;
/** What a model writes for people to read. Nothing is judged by it. */
export const NARRATING = ['explainPattern', 'narrateDecision'] as const;
/** What a model is asked for. Each has a target of its own in the routing file. */
export type Workload = (typeof JUDGING)[number] | (typeof READING)[number] | (typeof NARRATING)[number];

/** Why there is no value, in one word. Neither a provider's words nor what it was asked are ever repeated. */
export type Failure =
  | 'connect'
  | 'no_key'
  | 'held_back'
  | 'over_budget'
  | 'rate_limited'
  | 'unavailable'
  | 'authentication'
  | 'invalid_input'
  | 'unsupported'
  | 'ambiguous_transport'
  | 'refused'
  | 'truncated'
  | 'parse';

/**
 * Another target may be asked only where this one surely did nothing, or said that it is busy
 * (docs/architecture/models.md#another-model). After anything else the question stays without a value.
 */
export class ModelFailure extends Error {
  override readonly name = 'ModelFailure';
  constructor(
    readonly failure: Failure,
    readonly options: {
      readonly transient?: boolean;
      /** What the provider counted for an answer that is of no use. */
      readonly usage?: Usage | null;
      /** Nobody knows whether the provider worked on it, so it counts as though it had. */
      readonly unknownCost?: boolean;
      readonly costMicros?: number;
    } = {},
  ) {
    super(`the model did not answer: ${failure}`);
  }
  get transient(): boolean {
    return this.options.transient ?? false;
  }
  get costMicros(): number {
    return this.options.costMicros ?? 0;
  }
}

export interface Usage {
  readonly inputTokens: number;
  readonly outputTokens: number;
}

/** More tokens than any model reads or writes at once: who counts so many does not count. */
const MOST_TOKENS = 100_000_000;
export const isTokenCount = (value: unknown): value is number =>
  typeof value === 'number' && Number.isSafeInteger(value) && value >= 0 && value <= MOST_TOKENS;

export interface Question<Value> {
  readonly workload: Workload;
  /** Whose budget it is. */
  readonly tenant: string | null;
  /** Gate's own words. */
  readonly system: string;
  /** What is judged. */
  readonly data: string;
  readonly schema: z.ZodType<Value>;
  readonly signal?: AbortSignal;
}

export interface Completion<Value> {
  readonly value: Value;
  readonly usage: Usage | null;
  /** Millionths of a dollar, with attempts that failed on the way and one whose answer nobody waited for. */
  readonly costMicros: number;
  /** Who answered: `alias:model`. */
  readonly model: string;
}

/** Models, whoever provides them. Rejects with ModelFailure; a value always fits the schema. */
export interface Models {
  complete<Value>(question: Question<Value>): Promise<Completion<Value>>;
}

/** One exchange with one model, as a provider's protocol has it. */
export interface ModelRequest {
  readonly model: string;
  readonly system: string;
  readonly data: string;
  /** The JSON schema of the answer, in the part of the language that providers enforce. */
  readonly schema: Readonly<Record<string, unknown>>;
  readonly maxOutputTokens: number;
  readonly signal: AbortSignal;
}
export interface ModelReply {
  readonly text: string;
  readonly usage: Usage | null;
}

/** A provider's protocol. One call is at most one request; rejects with ModelFailure. */
export interface ModelClient {
  ask(request: ModelRequest): Promise<ModelReply>;
}
