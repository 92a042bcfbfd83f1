/** A network with one hidden layer, of rectified linear units, over the facts of a sentence. It has a multiple of four units. */
export interface InjectionNetwork {
  /** One row of `facts` numbers for each hidden unit. */
  readonly hidden: Float32Array;
  readonly hiddenBias: Float32Array;
  readonly output: Float32Array;
  readonly outputBias: number;
}

/** So many units are summed at once, which takes half the time. */
const TOGETHER = 4;

/** What it adds to the score of a sentence, in log-odds. */
export function scoreOfFacts(
  { hidden, hiddenBias, output, outputBias }: InjectionNetwork,
  facts: Float32Array,
): number {
  let score = outputBias;
  const many = facts.length;
  for (let unit = 0; unit < output.length; unit += TOGETHER) {
    const first = unit * many;
    const [second, third, fourth] = [first + many, first + 2 * many, first + 3 * many];
    let one = hiddenBias[unit] as number;
    let two = hiddenBias[unit + 1] as number;
    let three = hiddenBias[unit + 2] as number;
    let four = hiddenBias[unit + 3] as number;
    for (let at = 0; at < many; at += 1) {
      const fact = facts[at] as number;
      one += (hidden[first + at] as number) * fact;
      two += (hidden[second + at] as number) * fact;
      three += (hidden[third + at] as number) * fact;
      four += (hidden[fourth + at] as number) * fact;
    }
    if (one > 0) score += (output[unit] as number) * one;
    if (two > 0) score += (output[unit + 1] as number) * two;
    if (three > 0) score += (output[unit + 2] as number) * three;
    if (four > 0) score += (output[unit + 3] as number) * four;
  }
  return score;
}

const BYTES = 4;
/** Its numbers one after the other in 32 bits, little-endian: hidden layer, its biases, output, its bias. */
export function packedNetwork({ hidden, hiddenBias, output, outputBias }: InjectionNetwork): string {
  const all = [...hidden, ...hiddenBias, ...output, outputBias];
  const bytes = Buffer.alloc(all.length * BYTES);
  for (const [at, value] of all.entries()) bytes.writeFloatLE(value, at * BYTES);
  return bytes.toString('base64');
}
export function unpackedNetwork(packed: string, units: number): InjectionNetwork {
  if (units % TOGETHER !== 0) throw new Error(`a network of ${units} units, which is no multiple of ${TOGETHER}`);
  const bytes = Buffer.from(packed, 'base64');
  const all = Float32Array.from({ length: bytes.length / BYTES }, (_, at) => bytes.readFloatLE(at * BYTES));
  const hidden = all.length - 2 * units - 1;
  return {
    hidden: all.subarray(0, hidden),
    hiddenBias: all.subarray(hidden, hidden + units),
    output: all.subarray(hidden + units, hidden + 2 * units),
    outputBias: all[hidden + 2 * units] as number,
  };
}
