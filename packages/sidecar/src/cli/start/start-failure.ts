import { commandLine, targetWords } from '../output/command-name.ts';
import { CommandError, EXIT, reportFailure } from '../output/output.ts';

/** What the system says where the place that a setting names can not be used at all: another start changes nothing. */
const WRONG_PLACES: ReadonlySet<unknown> = new Set([
	'EACCES',
	'EADDRNOTAVAIL',
	'EINVAL',
	'ELOOP',
	'ENAMETOOLONG',
	'ENOENT',
	'ENOTDIR',
	'ENOTFOUND',
	'ENOTSOCK',
	'EPERM',
	'EROFS',
]);

/** What has ended a start: wrong usage if it is a setting, or a place that one names; a failure if the place is taken, or anything else. */
export function startFailure(error: unknown): CommandError {
	if (error instanceof CommandError) return error;
	const { message, cause } = error as Error;
	const { code, path } = (cause ?? {}) as { readonly code?: unknown; readonly path?: unknown };
	// A RangeError or TypeError names an option.
	const isSetting = WRONG_PLACES.has(code) || error instanceof RangeError || error instanceof TypeError;
	const isTaken = code === 'EEXIST' && typeof path === 'string';
	const isGiven = targetWords(process.argv.slice(2)).includes('--socket');
	const status = isTaken ? commandLine('status', ...(isGiven ? [] : ['--socket', path])) : undefined;
	const more = status === undefined ? '' : ` (\`${status}\` shows what it is)`;
	return new CommandError(isSetting ? EXIT.usage : EXIT.failure, `${message}${more}`, { cause: error });
}

/** Whether the log of a start is for people, as far as flags and variables say that are not read as settings yet. */
export function isStartPretty(args: readonly string[], env: Readonly<Record<string, string | undefined>>): boolean {
	const flag = '--log-format';
	const at = args.lastIndexOf(flag);
	const inline = args.findLast((arg) => arg.startsWith(`${flag}=`))?.slice(flag.length + 1);
	const format = (at === -1 ? inline : args[at + 1]) ?? env['SPOCK_LOG_FORMAT'] ?? '';
	return isPretty(format, process.stdout.isTTY === true);
}

/** Whether a log of this format is for people. */
export function isPretty(format: string, isTerminal: boolean): boolean {
	return format === 'pretty' || (format !== 'json' && isTerminal);
}

/**
 * Says why a start has failed. Where the log is for programs it is the last log line, which is all that a log collector sees; text
 * on stderr is for people, at a terminal or by --log-format. Gives the exit code.
 */
export function reportStartFailure(error: unknown, isForPeople: boolean): number {
	if (isForPeople) return reportFailure(error);
	const { message, stack } = error as Error;
	const exitCode = error instanceof CommandError ? error.exitCode : EXIT.failure;
	// What is no CommandError is a fault of ours.
	const fault = error instanceof CommandError ? {} : { stack };
	log.fatal({ exitCode, reason: message, ...fault }, 'the sidecar cannot start');
	if (process.stderr.isTTY) reportFailure(error);
	return exitCode;
}

/** A line in the form of the log, without the logger: that is not made yet, or its settings are what is wrong. */
const log = {
	fatal(facts: object, msg: string): void {
		const time = new Date().toISOString();
		process.stdout.write(`${JSON.stringify({ level: 'fatal', time, pid: process.pid, ...facts, msg })}\n`);
	},
};
