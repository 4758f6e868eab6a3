import { type DestinationStream, type Logger, pino, stdSerializers } from 'pino';
import pretty from 'pino-pretty';

/** Members that must never be written, wherever they stand. */
const SECRETS = ['token', '*.token', 'consulToken', '*.consulToken', 'headers["x-consul-token"]'];

/**
 * The log of the process, on stdout: JSON, or lines for people. Written at once, so that the last line before an exit is
 * there.
 */
export function createLogger(level: string, format: 'pretty' | 'json'): Logger {
	const destination: DestinationStream =
		format === 'pretty'
			? pretty({
					sync: true,
					destination: 1,
					ignore: 'pid,hostname',
					translateTime: 'SYS:HH:MM:ss.l',
					singleLine: true,
				})
			: pino.destination({ dest: 1, sync: true });
	return pino(
		{
			level,
			base: { pid: process.pid },
			timestamp: () => `,"time":"${new Date().toISOString()}"`,
			formatters: { level: (label) => ({ level: label }) },
			redact: { paths: SECRETS, censor: '(hidden)' },
			serializers: { err: stdSerializers.err },
		},
		destination,
	);
}
