import { condition, proxyActivities, proxyLocalActivities, setHandler } from '@temporalio/workflow';
import type { BareActivities } from './activities.js';
import { answerUpdate } from './messages.js';

/**
 * What the engine costs by itself: the shapes of Gate's calls with nothing in them. `judged`: an update that is answered after two local
 * activities, as a deny or a decision; `parked`: the same and then a wait, as a call under review; `executed`: one normal activity more.
 */
export type Shape = 'judged' | 'parked' | 'executed';

const options = { startToCloseTimeout: '2s' } as const;
const { look, store } = proxyLocalActivities<BareActivities>(options);
const { act } = proxyActivities<BareActivities>({ ...options, retry: { maximumAttempts: 1 } });

export async function bare(id: string, shape: Shape): Promise<void> {
  let answer: string | null = null;
  setHandler(answerUpdate, async () => {
    await condition(() => answer !== null);
    return answer as unknown as string;
  });
  await look(id);
  const looked = await store(id);
  if (shape === 'executed') await act(id);
  answer = looked;
  if (shape === 'parked') await condition(() => false, '1h');
}
