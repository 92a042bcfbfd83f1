import { readFileSync } from 'node:fs';
import { qualificationCase } from '../../contracts/brain-qualification.js';
import { sha256Hex } from '../../domain/crypto/digest.js';
import type { Corpus } from '../../domain/models/qualification/run.js';
import { shippedPath } from '../shipped.js';

/** The cases that ship with Gate, in their order. The digest is that of the file. */
export function shippedCorpus(): Corpus {
  const text = readFileSync(shippedPath('qualification', 'corpus.jsonl'), 'utf8');
  const lines = text.split('\n').filter((line) => line !== '');
  return { sha256: sha256Hex(text), cases: lines.map((line) => qualificationCase.parse(JSON.parse(line))) };
}
