import { X509Certificate } from 'node:crypto';
import { rmSync } from 'node:fs';
import { join } from 'node:path';
import { z } from 'zod';
import { sha256Hex } from '../../domain/crypto/digest.js';
import { spiffeOfCertificate } from '../../domain/identity/spiffe.js';
import type { HeldCertificate, KeptTrust, WorkloadKeep } from '../../domain/identity/workload-renewal.js';
import { PRIVATE_FILE, readIfPresent, replaceFile } from '../store/durable-file.js';
import { readCredential } from './certificate-authority.js';
import { isSignedBy } from './svid-signer.js';

const currentFile = z.strictObject({ cert: z.string(), key: z.string() });
const trustFile = z.strictObject({
  started_with_sha256: z.string(),
  sequence: z.number().int(),
  ca: z.string().min(1),
});
const pendingFile = z.strictObject({ requestId: z.uuid(), csr: z.string(), key: z.string() });

/** What a service keeps of its certificate in a folder of its own, readable by its owner alone. */
export function workloadFiles(
  folder: string,
  /** `ca`: the CAs that the process was started with. */
  expected: { readonly ca: string; readonly spiffe: string },
): WorkloadKeep {
  const file = (name: string): string => join(folder, `${name}.json`);
  const [current, pending, trust] = [file('current'), file('pending'), file('trust')];
  const startedWith = sha256Hex(expected.ca);

  function keptTrust(): KeptTrust | null {
    const stored = read(trust, trustFile);
    // Where an operator gave the process other CAs, identity says anew which count.
    return stored?.started_with_sha256 === startedWith ? { sequence: stored.sequence, ca: stored.ca } : null;
  }

  function read<Type extends z.ZodType>(file: string, type: Type): z.infer<Type> | null {
    const text = readIfPresent(file, PRIVATE_FILE);
    if (text === null) return null;
    try {
      return type.parse(JSON.parse(text));
    } catch (error) {
      throw new Error(`${file} is damaged: restore it, or remove it and let an operator open a recovery`, {
        cause: error,
      });
    }
  }

  return {
    current() {
      const stored = read(current, currentFile);
      if (stored === null) return null;
      const held = heldOf(stored);
      if (held === null) throw new Error(`${current} is damaged: its key is not that of its certificate`);
      // Of another CA or service, as after the state folder was made anew: nobody would take it.
      const { ca } = keptTrust() ?? expected;
      return faultOf(held.certificate, { ...expected, ca }) === null ? held.held : null;
    },
    trust: keptTrust,
    storeTrust(kept) {
      replaceFile(trust, `${JSON.stringify({ started_with_sha256: startedWith, ...kept })}\n`, PRIVATE_FILE);
    },
    pending: () => read(pending, pendingFile),
    storePending(request) {
      if (request === null) rmSync(pending, { force: true });
      else replaceFile(pending, `${JSON.stringify(request)}\n`, PRIVATE_FILE);
    },
    storeCurrent({ cert, key }) {
      replaceFile(current, `${JSON.stringify({ cert, key })}\n`, PRIVATE_FILE);
      rmSync(pending, { force: true });
    },
  };
}

/** For a process that keeps nothing over its end, as identity itself, which gives itself a new one. */
export function keptInMemory(): WorkloadKeep {
  let pending: ReturnType<WorkloadKeep['pending']> = null;
  return {
    current: () => null,
    trust: () => null,
    storeTrust: () => undefined,
    pending: () => pending,
    storePending: (request) => void (pending = request),
    storeCurrent: () => void (pending = null),
  };
}

/** Throws where it is not the certificate that was asked for, or counts no more by the clock of this machine. */
export function checkedCertificate(
  credential: { readonly cert: string; readonly key: string },
  expected: { readonly ca: string; readonly spiffe: string },
): HeldCertificate {
  const held = heldOf(credential);
  if (held === null) throw new Error('identity gave a certificate of another key');
  const fault = faultOf(held.certificate, expected);
  if (fault !== null) throw new Error(`identity gave a certificate that ${fault}`);
  if (held.held.notAfterMs <= Date.now())
    throw new Error(
      `identity gave a certificate that ended at ${held.certificate.validTo}: do the clocks of its machine and of this one agree?`,
    );
  return held.held;
}

function heldOf({ cert, key }: { readonly cert: string; readonly key: string }) {
  const certificate = readCredential({ cert, key });
  return certificate && { certificate, held: { cert, key, notAfterMs: Date.parse(certificate.validTo) } };
}

function faultOf(
  certificate: X509Certificate,
  { ca, spiffe }: { readonly ca: string; readonly spiffe: string },
): string | null {
  const named = spiffeOfCertificate(certificate);
  // Each certificate of an agent has an instance of its own.
  if (named !== spiffe && !named?.startsWith(`${spiffe}/instance/`)) return `is not of ${spiffe}`;
  return isSignedBy(certificate, ca) ? null : 'the CA of this deployment did not sign';
}
