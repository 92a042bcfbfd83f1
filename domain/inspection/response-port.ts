import type {
  ArgumentScanRequest,
  ArgumentScanResult,
  ResponseDecision,
  ResponseQuestion,
  ScanRequest,
  ScanResult,
} from '../../contracts/response-scan.js';

/** Looks for what an answer should not carry. Throws when it cannot say; then nothing is known of the answer. */
export interface ResponseScanner {
  scanResponse(request: ScanRequest): Promise<ScanResult>;
}

/** Looks for secrets and personal data in arguments. Throws when it cannot say. */
export interface RequestScanner {
  scanRequest(request: ArgumentScanRequest): Promise<ArgumentScanResult>;
}

/** What policy wants done about classes of findings. Throws when there is no decision. */
export interface ResponsePolicy {
  judgeResponse(question: ResponseQuestion): Promise<ResponseDecision>;
}
