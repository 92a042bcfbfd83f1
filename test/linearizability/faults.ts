import { checkHistories } from './checker.js';
import { linesOf } from './history.js';
import type { Ended } from './rounds.js';

/** What is wrong with reviews that are over: a history that no order explains, or a tool that ran without its approval or twice. */
export async function faultsOf(
  ended: readonly Ended[],
  { effects }: { readonly effects: readonly { readonly arguments: Readonly<Record<string, unknown>> }[] },
): Promise<unknown[]> {
  const verdicts = await checkHistories(ended.map(({ history }) => history));
  return ended.flatMap(({ history, memo, correlationId, status }) => {
    const verdict = verdicts.get(correlationId);
    const runs = effects.filter(({ arguments: args }) => args['to'] === memo).length;
    // What was approved may have been on its way to its tool when everything was killed.
    const tooOften = runs > (status === 'approved' ? 1 : 0);
    return [
      ...(verdict === 'Ok' ? [] : [{ correlationId, verdict, history: linesOf(history) }]),
      ...(tooOften ? [{ correlationId, status, runs }] : []),
    ];
  });
}
