import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { z } from 'zod';
import { sha256Hex } from '../../domain/crypto/digest.js';
import { errorText, GateError } from '../../domain/errors.js';
import { policyData } from '../../domain/policy/policy-data.js';
import { compiledSourcesSha256, POLICY_LAYOUT, readPolicyFiles } from './policy-sources.js';
import { createPolicySet, faultOf, type PolicySet } from '../../domain/policy/policy-set.js';
import { policyManifest } from '../../domain/policy/policy-files.js';
import { readersOf } from './argument-readers.js';

/** 64 MiB, about ten times what the largest request of Gate needs. Beyond it the evaluation fails closed. */
const DEFAULT_MEMORY_PAGES = 1_024;

/**
 * Loads the compiled set of a policy folder. Throws GateError `policy_unavailable`, naming the file, when the wasm or the rules are not
 * those of the manifest, or the data document is faulty: a set that cannot be verified must decide nothing.
 */
export async function loadPolicySet(options: { directory: string; maxMemoryPages?: number }): Promise<PolicySet> {
  const { directory } = options;
  const [manifestText, wasm, files] = await Promise.all([
    readFile(join(directory, POLICY_LAYOUT.manifest), 'utf8'),
    readFile(join(directory, POLICY_LAYOUT.wasm)),
    readPolicyFiles(directory),
  ]).catch((error: unknown) => {
    throw unavailable(errorText(error), error);
  });
  const manifest = parsed(POLICY_LAYOUT.manifest, policyManifest, manifestText);
  if (sha256Hex(wasm) !== manifest.wasm_sha256)
    throw unavailable(`${POLICY_LAYOUT.wasm} does not have the hash its manifest states; run npm run policies`);
  const sources = await compiledSourcesSha256(directory, files).catch((error: unknown) => {
    throw unavailable(errorText(error), error);
  });
  if (sources !== manifest.sources_sha256)
    throw unavailable('the rules were changed after they were compiled; run npm run policies');
  const dataFile = files.find((file) => file.content_type === 'json');
  const data = parsed(POLICY_LAYOUT.data, policyData, dataFile?.body ?? '');
  return createPolicySet({
    wasm,
    ...(await readersOf(data)),
    data,
    files,
    version: manifest.version,
    maxMemoryPages: options.maxMemoryPages ?? DEFAULT_MEMORY_PAGES,
    origin: {
      directory,
      loaded_at: new Date().toISOString(),
      wasm_sha256: manifest.wasm_sha256,
      opa_version: manifest.opa_version,
      entrypoints: manifest.entrypoints,
    },
  });
}

const unavailable = (detail: string, cause?: unknown): GateError =>
  new GateError('policy_unavailable', `policy set: ${detail}`, { cause });

function parsed<Type extends z.ZodType>(file: string, type: Type, text: string): z.infer<Type> {
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch (error) {
    throw unavailable(`${file} is not JSON: ${errorText(error)}`, error);
  }
  const result = type.safeParse(value);
  if (!result.success) throw unavailable(`${file}: ${faultOf(result.error)}`);
  return result.data;
}
