import type { EgressDecision, EgressQuestion, ScanRequest, ScanResult } from '../../contracts/response-scan.js';

/** Looks for what an answer should not carry. Throws when it cannot say; then nothing is known of the answer. */
export interface ResponseScanner {
  scanResponse(request: ScanRequest): Promise<ScanResult>;
}

/** What policy wants done about classes of findings. Throws when there is no decision. */
export interface EgressPolicy {
  evaluateEgress(question: EgressQuestion): Promise<EgressDecision>;
}
