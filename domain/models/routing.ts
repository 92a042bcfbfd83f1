import { JUDGING, type Workload } from './port.js';

/** Millionths of a dollar for a million tokens. */
export interface Price {
  readonly inputMicrosPerMillionTokens: number;
  readonly outputMicrosPerMillionTokens: number;
}

/** Millionths of a dollar in one hour by the clock. */
export interface Budget {
  readonly microsPerHour: number;
  readonly microsPerTenantAndHour: number;
}

export interface Target {
  readonly alias: string;
  readonly provider: string;
  readonly model: string;
  readonly maxOutputTokens: number;
  readonly price: Price;
}

export interface Route {
  /** The primary first, then the models that may stand in for it. */
  readonly targets: readonly [Target, ...Target[]];
  /** After so long the first stand-in is asked beside the primary. */
  readonly hedgeAfterMs?: number | undefined;
}

export interface ProviderRules {
  readonly budget?: Budget | undefined;
}

/** Who is asked for what, as the file says it. */
export interface Routing {
  /** SHA-256 of the file as it is understood. */
  readonly sha256: string;
  readonly providers: Readonly<Record<string, ProviderRules>>;
  readonly workloads: Readonly<Partial<Record<Workload, Route>>>;
}

/** The routes of what is judged, which a qualification is about. */
export const judgingRoutes = ({ workloads }: Pick<Routing, 'workloads'>): (readonly [Workload, Route])[] =>
  JUDGING.flatMap((workload) => {
    const route = workloads[workload];
    return route ? [[workload, route] as const] : [];
  });

export const nameOfTarget = ({ alias, model }: Target): string => `${alias}:${model}`;

/** What so many tokens cost, rounded up. */
export const costOf = (
  price: Price,
  { inputTokens, outputTokens }: { inputTokens: number; outputTokens: number },
): number =>
  Math.ceil(
    (inputTokens * price.inputMicrosPerMillionTokens + outputTokens * price.outputMicrosPerMillionTokens) / 1_000_000,
  );
