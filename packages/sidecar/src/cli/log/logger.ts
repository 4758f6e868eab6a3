import { type DestinationStream, type Logger, pino, stdSerializers } from 'pino';
import { prettyFactory } from 'pino-pretty';

import { printable, printableLines } from '../output/printable.ts';
import { LogOutput } from './log-output.ts';

/** Members that must never be written, wherever they stand. */
const SECRETS = ['token', '*.token', 'consulToken', '*.consulToken', 'headers["x-consul-token"]'];

/** The log of the process, on stdout, and what is known of its lines. */
export interface SidecarLog {
	readonly log: Logger;
	/** Lines that nobody could be given, since the start. */
	dropped(): number;
}

/** Makes the log of the process: JSON, or lines for people. */
export function createLogger(level: string, format: 'pretty' | 'json'): SidecarLog {
	const output = new LogOutput({ back: (dropped) => log.warn({ dropped }, 'log lines dropped') });
	const log = pino(
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
	return { log, dropped: () => output.dropped };
}

/** The formatter alone: the stream that pino-pretty makes around it stops for good at the first error of its output. */
function forPeople(output: DestinationStream): DestinationStream {
	const pretty = prettyFactory({ ignore: 'pid,hostname', translateTime: 'SYS:HH:MM:ss.l', singleLine: true });
	// Names of the registry stand in messages, too.
	const shown = (name: string, value: unknown): unknown =>
		typeof value !== 'string' ? value : name === 'stack' ? printableLines(value) : printable(value);
	return { write: (line) => output.write(pretty(JSON.parse(line, shown))) };
}
