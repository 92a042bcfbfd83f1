import type { ValidatePolicy } from '../../contracts/policy-library.js';
import type { PolicyCompiler, PolicyFault } from './compiler.js';

const MOUNT = /^[a-z][a-z0-9_]*$/;

/** What speaks against one policy by itself; null where nothing does. `floorData` is what documents may not hide. */
export async function faultIn(
  { name, content_type: type, body }: ValidatePolicy,
  compiler: Pick<PolicyCompiler, 'check'>,
  floorData: object,
): Promise<{ readonly fault: PolicyFault | null; readonly formatted?: string }> {
  if (!name.endsWith(`.${type}`)) return { fault: fault(`the name of a ${type} policy ends with .${type}`) };
  if (type === 'rego') return compiler.check({ name, body });
  const mount = name.slice(0, -'.json'.length);
  if (!MOUNT.test(mount))
    return { fault: fault(`${name} is mounted at data.gate.${mount}: use lower-case letters, digits and _`) };
  if (Object.hasOwn(floorData, mount)) return { fault: fault(`data.gate.${mount} is data of the rules that ship`) };
  try {
    const value: unknown = JSON.parse(body);
    if (typeof value !== 'object' || value === null) return { fault: fault('a document is an object or a list') };
  } catch (error) {
    return { fault: jsonFault(error, body) };
  }
  return { fault: null };
}

const fault = (message: string): PolicyFault => ({ message, file: null, line: null, column: null });

/** Where JSON ends to be JSON, as far as the parser says it. */
function jsonFault(error: unknown, body: string): PolicyFault {
  const message = error instanceof Error ? error.message : String(error);
  const at = Number(/position (\d+)/.exec(message)?.[1] ?? Number.NaN);
  if (Number.isNaN(at)) return fault(message);
  const before = body.slice(0, at).split('\n');
  return { message, file: null, line: before.length, column: (before.at(-1)?.length ?? 0) + 1 };
}
