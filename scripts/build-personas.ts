import { readFile, writeFile } from 'node:fs/promises';
import { pathToFileURL } from 'node:url';
import { sha256Hex } from '../domain/crypto/digest.js';
import { errorText } from '../domain/errors.js';
import { offlineEmbedding } from '../domain/inspection/embedding.js';
import type { EmbeddingProvider } from '../domain/inspection/lanes.js';
import { wrongCases } from '../domain/inspection/persona-cases.js';
import { embedPersona, type StoredVector, storedVector } from '../domain/inspection/personas.js';
import {
  personaFiles,
  readPersonaCases,
  shippedPersonaDirectory,
  vectorFileOf,
} from '../adapters/inspection/persona-files.js';

export interface BuildPersonasOptions {
  readonly directory: string;
  /** Writes nothing; a vector that would have to be made is a fault. */
  readonly check?: boolean;
  readonly embedding?: EmbeddingProvider;
  readonly now?: Date;
}
export interface BuiltPersonas {
  /** One line per persona: what was found and what was done. */
  readonly lines: readonly string[];
  readonly faults: readonly string[];
}

/**
 * Makes the vector of every persona whose vector is missing or belongs to another text or embedding; leaves all others untouched, bytes
 * and date. A vector whose cases come out wrong is a fault and is not written. Running it again changes nothing.
 */
export async function buildPersonas(options: BuildPersonasOptions): Promise<BuiltPersonas> {
  const { directory, check = false, embedding = offlineEmbedding, now = new Date() } = options;
  const lines: string[] = [];
  const faults: string[] = [];
  for (const { name, file } of await personaFiles(directory)) {
    try {
      const markdown = await readFile(file, 'utf8');
      const current = await currentVector(file, markdown, embedding);
      const vector = current ?? (await embedPersona(markdown, embedding, now));
      const cases = await readPersonaCases(file);
      const wrong = cases === null ? [] : await wrongCases(cases, vector, embedding);
      const judged = cases === null ? 'no cases' : `${cases.on.length} on, ${cases.off.length} off`;
      if (wrong.length > 0) faults.push(...wrong.map((line) => `${name}: ${line}`));
      else if (current !== null) lines.push(`${name}: vector of ${current.created_at} fits (${judged})`);
      else if (check) faults.push(`${name}: its vector is missing or outdated; run npm run personas`);
      else {
        await writeFile(vectorFileOf(file), vectorText(vector));
        lines.push(`${name}: wrote the vector of ${vector.exemplars.length} example calls (${judged})`);
      }
    } catch (error) {
      faults.push(`${name}: ${errorText(error)}`);
    }
  }
  return { lines, faults };
}

async function currentVector(
  file: string,
  markdown: string,
  embedding: EmbeddingProvider,
): Promise<StoredVector | null> {
  let text: string;
  try {
    text = await readFile(vectorFileOf(file), 'utf8');
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return null;
    throw error;
  }
  const stored = storedVector.parse(JSON.parse(text));
  const fits =
    stored.persona_sha256 === sha256Hex(markdown) &&
    stored.provider === embedding.provider &&
    stored.model === embedding.model &&
    stored.dimensions === embedding.dimensions;
  return fits ? stored : null;
}

/** One vector per line: a change shows as one line. */
function vectorText({ vector, exemplars, ...facts }: StoredVector): string {
  const head = Object.entries(facts).map(([key, value]) => `  ${JSON.stringify(key)}: ${JSON.stringify(value)},`);
  const rows = exemplars.map((one) => `    ${JSON.stringify(one)}`).join(',\n');
  return `{\n${head.join('\n')}\n  "vector": ${JSON.stringify(vector)},\n  "exemplars": [\n${rows}\n  ]\n}\n`;
}

if (process.argv[1] && import.meta.url === pathToFileURL(process.argv[1]).href) {
  const { lines, faults } = await buildPersonas({
    directory: process.env['GATE_BRAIN_PERSONAS_DIR'] || shippedPersonaDirectory(),
    check: process.argv.includes('--check'),
  });
  for (const line of lines) process.stdout.write(`${line}\n`);
  for (const fault of faults) process.stderr.write(`${fault}\n`);
  process.exitCode = faults.length > 0 ? 1 : 0;
}
