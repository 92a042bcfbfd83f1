import { readdir, readFile } from 'node:fs/promises';
import { join, relative, sep } from 'node:path';
import { sha256Hex } from '../../domain/crypto/digest.js';
import { errorText } from '../../domain/errors.js';
import { shippedPath } from '../shipped.js';
import { foreignText } from '../../domain/text.js';
import {
  vectorFault,
  isPersonaName,
  type Persona,
  type Personas,
  personasOf,
  storedVector,
} from '../../domain/inspection/personas.js';
import { personaCases, type PersonaCases } from '../../domain/inspection/persona-cases.js';

/** The persona folder that ships with Gate. */
export const shippedPersonaDirectory = (): string => join(shippedPath('personas', 'README.md'), '..');

/**
 * Reads all persona files below a folder once; by default those that ship with Gate. A persona whose vector is missing or unreadable has
 * none (drift is unavailable and blocks nothing). Throws when the folder cannot be read.
 */
export async function loadPersonas(options: { readonly directory?: string } = {}): Promise<Personas> {
  const directory = options.directory ?? shippedPersonaDirectory();
  const known = new Map<string, Persona>();
  for (const { name, file } of await personaFiles(directory)) known.set(name, await readPersona(file));
  return personasOf(known);
}

/** The persona files of a folder, sorted by name (`tenant/agent` or `agent`). A README is not a persona. */
export async function personaFiles(directory: string): Promise<{ readonly name: string; readonly file: string }[]> {
  const found: { name: string; file: string }[] = [];
  for (const entry of await readdir(directory, { recursive: true, withFileTypes: true })) {
    if (!entry.isFile() || !entry.name.endsWith('.md') || entry.name === 'README.md') continue;
    const file = join(entry.parentPath, entry.name);
    const name = relative(directory, file).slice(0, -'.md'.length).split(sep).join('/');
    const parts = name.split('/');
    if (parts.length <= 2 && parts.every((part) => isPersonaName(part))) found.push({ name, file });
  }
  return found.sort((a, b) => (a.name < b.name ? -1 : 1));
}

/** The path of a persona's vector file. */
export const vectorFileOf = (file: string): string => `${file.slice(0, -'.md'.length)}.vector.json`;

async function readPersona(file: string): Promise<Persona> {
  const text = await readFile(file, 'utf8');
  const sha256 = sha256Hex(text);
  try {
    const stored = storedVector.parse(JSON.parse(await readFile(vectorFileOf(file), 'utf8')));
    const fault = vectorFault(stored, sha256);
    return { text, sha256, stored: fault === null ? stored : null, fault };
  } catch (error) {
    return { text, sha256, stored: null, fault: `no usable vector: ${foreignText(errorText(error), 200)}` };
  }
}

/** Test calls that are not among a persona's examples, each with the expected side. Null when a persona has no such file. */
export async function readPersonaCases(personaFile: string): Promise<PersonaCases | null> {
  const file = `${personaFile.slice(0, -'.md'.length)}.cases.json`;
  let text: string;
  try {
    text = await readFile(file, 'utf8');
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return null;
    throw error;
  }
  return personaCases.parse(JSON.parse(text));
}
