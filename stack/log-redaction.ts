/** What no log line holds, whatever is logged. */
export const LOG_REDACTION = {
  paths: ['req.headers.authorization', 'headers.authorization', '*.token', '*.grant', 'req.headers.cookie'],
  censor: '[redacted]',
};
