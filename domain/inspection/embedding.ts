import { createHash } from 'node:crypto';
import type { Json, JsonObject } from '../../contracts/json.js';
import { skeletonWords } from '../skeleton.js';
import { argumentsOf } from './intent.js';
import type { EmbeddingProvider } from './lanes.js';
import { toolShape, toolTokens } from '../tool-shape.js';

/**
 * The offline embedding: hashed n-grams of one call (feature hashing with signs). It has three parts, each normalised before weighting: the
 * tool's words with their kind of action, the names of the arguments, and a sample of the values. What a call *does* has most of the
 * weight, so the same tool on another file stays close, but another tool on the same file does not.
 */
const DIMENSIONS = 512;
const WEIGHTS = { tool: 0.72, keys: 0.2, values: 0.08 } as const;

const KIND_WEIGHT = 0.5;
const GRAM_WEIGHT = 0.25;
/** Values have little weight, so a sample limits the work: padding can move a score by at most 0.08. */
const VALUE_TEXTS = 32;
const VALUE_CHARACTERS = 64;
const MAX_DEPTH = 4;
const MAX_KEYS = 64;

type Features = Map<string, number>;
const add = (features: Features, name: string, weight: number): void => {
  features.set(name, (features.get(name) ?? 0) + weight);
};

function toolFeatures(tool: string): Features {
  const features: Features = new Map();
  const tokens = toolTokens(tool);
  for (const token of tokens) {
    add(features, `word:${token}`, 1);
    for (const gram of grams(token)) add(features, `gram:${gram}`, GRAM_WEIGHT / Math.max(1, token.length - 1));
  }
  const kind = toolShape(tokens);
  if (kind !== 'unknown') add(features, `kind:${kind}`, KIND_WEIGHT);
  return features;
}

function argumentFeatures(value: JsonObject): { keys: Features; values: Features } {
  const keys: Features = new Map();
  const values: Features = new Map();
  let texts = 0;
  const walk = (node: Json, key: string, depth: number): void => {
    if (depth > MAX_DEPTH || texts >= VALUE_TEXTS) return;
    if (Array.isArray(node)) {
      for (const item of node.slice(0, VALUE_TEXTS)) walk(item, key, depth + 1);
    } else if (node !== null && typeof node === 'object') {
      for (const name of Object.keys(node).sort().slice(0, MAX_KEYS)) {
        for (const token of toolTokens(name)) add(keys, `key:${token}`, 1 / (depth + 1));
        walk(node[name] as Json, name, depth + 1);
      }
    } else {
      texts += 1;
      add(values, `type:${key}:${typeof node}`, 1);
      if (typeof node === 'string')
        for (const word of skeletonWords(node.slice(0, VALUE_CHARACTERS)).split(' '))
          if (word !== '') add(values, `value:${word}`, 0.5);
    }
  };
  walk(value, '', 0);
  return { keys, values };
}

function grams(token: string): string[] {
  const padded = `^${token}$`;
  return Array.from({ length: Math.max(0, padded.length - 2) }, (_, at) => padded.slice(at, at + 3));
}

/** Each feature goes to four buckets, so that two features that collide in one share only a quarter. */
const SPREAD = 4;
const BUCKET_CACHE_SIZE = 10_000;
const buckets = new Map<string, readonly number[]>();

/** The buckets of a feature with their signs: 1-based, negative for minus. Uses SHA-256, so that stored vectors stay valid forever. */
function bucketsOf(feature: string): readonly number[] {
  const known = buckets.get(feature);
  if (known !== undefined) return known;
  const digest = createHash('sha256').update(feature).digest();
  const found = Array.from({ length: SPREAD }, (_, at) => {
    const bucket = (digest.readUInt32BE(at * 4) % DIMENSIONS) + 1;
    return (digest[16 + at] as number) & 1 ? bucket : -bucket;
  });
  if (buckets.size >= BUCKET_CACHE_SIZE) buckets.clear();
  buckets.set(feature, found);
  return found;
}

function addPart(vector: number[], features: Features, weight: number): void {
  let square = 0;
  for (const value of features.values()) square += value * value;
  if (square === 0) return;
  const scale = Math.sqrt(weight / square / SPREAD);
  for (const [feature, value] of features) {
    for (const bucket of bucketsOf(feature)) {
      const at = Math.abs(bucket) - 1;
      vector[at] = (vector[at] as number) + (bucket > 0 ? value : -value) * scale;
    }
  }
}

/** Deterministic, without network. The same call has the same vector in every release with this model name. */
export const offlineEmbedding: EmbeddingProvider = {
  provider: 'gate-offline',
  model: 'hashed-ngram-1',
  dimensions: DIMENSIONS,
  embed({ tool, params }) {
    const vector = Array.from({ length: DIMENSIONS }, () => 0);
    const { keys, values } = argumentFeatures(argumentsOf(params));
    addPart(vector, toolFeatures(tool), WEIGHTS.tool);
    addPart(vector, keys, WEIGHTS.keys);
    addPart(vector, values, WEIGHTS.values);
    return vector;
  },
};

/** Cosine of two vectors of equal length; null when either has no direction. */
export function cosine(a: readonly number[], b: readonly number[]): number | null {
  let dot = 0;
  let aSquare = 0;
  let bSquare = 0;
  for (let index = 0; index < a.length; index += 1) {
    const x = a[index] as number;
    const y = b[index] as number;
    dot += x * y;
    aSquare += x * x;
    bSquare += y * y;
  }
  return aSquare === 0 || bSquare === 0 ? null : dot / Math.sqrt(aSquare * bSquare);
}
