import { z } from 'zod';
import { jsonObject } from '../../contracts/json.js';
import { DRIFT_THRESHOLD } from './drift-threshold.js';
import type { EmbeddingProvider } from './lanes.js';
import { callParams, personaDrift, type StoredVector } from './personas.js';

/** Calls that fit their persona must stay well below the threshold, so that ordinary variation does not reach it. */
export const ON_PERSONA_BELOW = 0.45;

export const personaCases = z.strictObject({
  on: z.array(z.strictObject({ tool: z.string(), arguments: jsonObject })),
  off: z.array(z.strictObject({ tool: z.string(), arguments: jsonObject })),
});
export type PersonaCases = z.infer<typeof personaCases>;

/** The cases with the wrong result, one line each. */
export async function wrongCases(
  { on, off }: PersonaCases,
  stored: StoredVector,
  embedding: EmbeddingProvider,
): Promise<string[]> {
  const persona = { text: '', sha256: stored.persona_sha256, stored, fault: null };
  const wrong: string[] = [];
  const judge = async (call: PersonaCases['on'][number], fits: (score: number) => boolean, wanted: string) => {
    const { score } = await personaDrift(persona, embedding, {
      method: 'call_tool',
      tool: call.tool,
      params: callParams(call),
    });
    if (!fits(score)) wrong.push(`${JSON.stringify(call)} scores ${score.toFixed(3)}, ${wanted}`);
  };
  for (const call of on)
    await judge(call, (score) => score < ON_PERSONA_BELOW, `an on-persona call must be below ${ON_PERSONA_BELOW}`);
  for (const call of off)
    await judge(call, (score) => score > DRIFT_THRESHOLD, `an off-persona call must be above ${DRIFT_THRESHOLD}`);
  return wrong;
}
