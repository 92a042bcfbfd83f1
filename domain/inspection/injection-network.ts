/** A network with one hidden layer, of rectified linear units, over the facts of a sentence. */
export interface InjectionNetwork {
  /** One row of `facts` numbers for each hidden unit. */
  readonly hidden: Float32Array;
  readonly hiddenBias: Float32Array;
  readonly output: Float32Array;
  readonly outputBias: number;
}

/** What it adds to the score of a sentence, in log-odds. */
export function scoreOfFacts(
  { hidden, hiddenBias, output, outputBias }: InjectionNetwork,
  facts: Float32Array,
): number {
  let score = outputBias;
  for (let unit = 0; unit < output.length; unit += 1) {
    let sum = hiddenBias[unit] as number;
    const first = unit * facts.length;
    for (let at = 0; at < facts.length; at += 1) sum += (hidden[first + at] as number) * (facts[at] as number);
    if (sum > 0) score += (output[unit] as number) * sum;
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
