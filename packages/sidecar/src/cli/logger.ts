import { type DestinationStream, type Logger, pino, stdSerializers } from 'pino';
import { prettyFactory } from 'pino-pretty';

/** Members that must never be written, wherever they stand. */
const SECRETS = ['token', '*.token', 'consulToken', '*.consulToken', 'headers["x-consul-token"]'];

/** Most text that waits for a log that cannot be written for now, as on a full disk. Later lines are lost. */
const UNWRITTEN_BYTES_MAX = 65_536;

/** The log of the process, on stdout: JSON, or lines for people. */
export function createLogger(level: string, format: 'pretty' | 'json'): Logger {
	const output = standardOutput();
	return pino(
		{
			level,
			base: { pid: process.pid },
			timestamp: () => `,"time":"${new Date().toISOString()}"`,
			formatters: { level: (label) => ({ level: label }) },
			redact: { paths: SECRETS, censor: '(hidden)' },
			serializers: { err: stdSerializers.err },
		},
		format === 'pretty' ? forPeople(output) : output,
	);
}

/**
 * Written at once, so that the last line before an exit is there. A log that cannot be written, because its reader has
 * gone or the disk is full, must not end the sidecar that a whole pod asks: lines are lost, and stderr says so once.
 */
function standardOutput(): DestinationStream {
	const output = pino.destination({ dest: 1, sync: true, maxLength: UNWRITTEN_BYTES_MAX });
	let isTold = false;
	output.on('error', ({ message }: Error) => {
		if (isTold) return;
		isTold = true;
		process.stderr.write(`sidecar: the log cannot be written, and the sidecar goes on without it: ${message}\n`);
	});
	return output;
}

/** The formatter alone: the stream that pino-pretty makes around it stops for good at the first error of its output. */
function forPeople(output: DestinationStream): DestinationStream {
	const pretty = prettyFactory({ ignore: 'pid,hostname', translateTime: 'SYS:HH:MM:ss.l', singleLine: true });
	return { write: (line) => output.write(pretty(line)) };
}
