import type { StopReport, StopReportContent } from '../../contracts/identity.js';
import { stopReportBytes } from '../../domain/identity/stop-reports.js';
import type { CaKey } from './ca-key.js';
import { caSigner, caVerifier } from './ca-signature.js';

export type StopReportSigner = (content: StopReportContent) => Promise<StopReport>;

/** Signs reports of stops with the key of the CA. */
export function stopReportSigner(caPem: string, key: CaKey): StopReportSigner {
  const signed = caSigner(caPem, key);
  return async (content) => ({ ...content, signature: await signed(stopReportBytes(content)) });
}

/** Checks that a CA of `trusted` signed a report. Throws where none did. */
export function stopReportVerifier(trusted: string): (report: StopReport) => StopReportContent {
  const verified = caVerifier(() => trusted, 'report', 'those that are trusted');
  return ({ signature, ...content }) => {
    verified(stopReportBytes(content), signature);
    return content;
  };
}
