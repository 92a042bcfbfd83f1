import { setTimeout as sleep } from 'node:timers/promises';
import { callOf, judgingModels } from '../test/support/judging-models.js';
import {
  answering,
  type Asked,
  type Behaviour,
  type ModelStub,
  silent,
  startModelStub,
  status,
} from '../test/support/model-stub.js';
import { quantile, rounded } from './numbers.js';

interface JudgesRow {
  readonly first_provider: string;
  readonly inspections: number;
  readonly at_once: number;
  readonly p50_ms: number;
  readonly p95_ms: number;
  readonly p99_ms: number;
  readonly without_a_verdict: number;
  readonly passed_that_would_not: number;
}

/** How long a provider that is well takes, and after how long the second one is asked beside the first. */
export const ANSWERS_AFTER_MS = 40;
export const HEDGE_AFTER_MS = 150;
const AT_ONCE = 12;
const TIMEOUT_MS = 2_000;

/** Each third call is one that the classifier refuses. */
const isRefused = (at: number): boolean => at % 3 === 0;
const wellSaid = answering(({ lane, body }: Asked) =>
  lane === 'classifier' && body.data.includes('to be refused') ? { authorized: false, ground: 'fraud' } : {},
);
const well: Behaviour = (asked, response) => void sleep(ANSWERS_AFTER_MS).then(() => wellSaid(asked, response));

/**
 * What models cost a call in time, and what it costs where the first of two providers is away: an inspector as Brain has it over two providers
 * on this machine. Also how many calls passed that would have been refused.
 */
export async function runJudgesBench({
  inspections,
  say,
}: {
  readonly inspections: number;
  readonly say: (line: string) => void;
}): Promise<readonly JudgesRow[]> {
  const first = await startModelStub();
  const second = await startModelStub(well);
  const rows: JudgesRow[] = [];
  try {
    for (const [name, behaviour] of [
      ['well', well],
      ['silent', silent],
      ['503', status(503)],
      ['429', status(429)],
    ] as const) {
      first.behave(behaviour);
      rows.push({ first_provider: name, ...(await measured(first, second, inspections)) });
      say(`the first provider: ${name}`);
    }
  } finally {
    await first.close();
    await second.close();
  }
  return rows;
}

async function measured(
  first: ModelStub,
  second: ModelStub,
  inspections: number,
): Promise<Omit<JudgesRow, 'first_provider'>> {
  const route = {
    primary: 'fast',
    fallback: { policy: 'transient_only', models: ['spare'] },
    hedgeAfterMs: HEDGE_AFTER_MS,
  };
  const { inspector, close } = await judgingModels({
    url: first.url,
    spareUrl: second.url,
    timeoutMs: TIMEOUT_MS,
    workloads: {
      classifier: { fast: route, deep: route },
      injection: route,
      maliciousCode: route,
      compromisedPackage: route,
    },
  });
  const took: number[] = [];
  let [without, passed, next] = [0, 0, 0];
  const work = async (until: number): Promise<void> => {
    for (let at = next; at < until; at = next) {
      next += 1;
      const begun = performance.now();
      const text = `note ${at}${isRefused(at) ? ' to be refused' : ''}`;
      // Each worker is a tenant: what one tenant may have open at a provider is no part of this.
      const verdict = await inspector
        .inspect(callOf('read_file', { text }, { tenant: `tenant-${at % AT_ONCE}` }))
        .catch(() => null);
      took.push(performance.now() - begun);
      if (verdict === null) without += 1;
      else if (isRefused(at) && verdict.authorized && verdict.intent_suspicions === undefined) passed += 1;
    }
  };
  const beginnings = Math.min(120, inspections);
  // What is loaded and compiled once is no part of a call.
  for (const until of [beginnings, inspections + beginnings]) {
    took.length = 0;
    without = 0;
    await Promise.all(Array.from({ length: AT_ONCE }, () => work(until)));
  }
  await close();
  return {
    inspections,
    at_once: AT_ONCE,
    p50_ms: rounded(quantile(took, 0.5)),
    p95_ms: rounded(quantile(took, 0.95)),
    p99_ms: rounded(quantile(took, 0.99)),
    without_a_verdict: without,
    passed_that_would_not: passed,
  };
}
