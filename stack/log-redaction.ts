/** What no log line may contain. */
export const LOG_REDACTION = {
  paths: ['req.headers.authorization', 'headers.authorization', '*.token', '*.grant', 'req.headers.cookie'],
  censor: '[redacted]',
};
