import { type Command, CommanderError } from 'commander';

import { typedCommand } from './output/command-name.ts';
import { reportFailureAsJson } from './output/error-json.ts';
import { CommandError, EXIT, reportFailure } from './output/output.ts';
import { isStartPretty, reportStartFailure } from './start/start-failure.ts';

/** Whether a command was asked for JSON; what stands behind `--` is another program's. */
export function wantsJson(args: readonly string[]): boolean {
	const end = args.indexOf('--');
	return (end === -1 ? args : args.slice(0, end)).includes('--json');
}

/** Reports why a command failed: in text, as JSON where that was asked for, or as the last line of a log. Gives the exit code. */
export function reportError(error: unknown, args: readonly string[], program: Command): number {
	const [first = ''] = args;
	const isCommander = error instanceof CommanderError;
	if (isCommander && error.exitCode === 0) return EXIT.ok;
	const isStart = first === 'start' && !args.includes('--print-config');
	if (isCommander && isStart) return reportStartFailure(usageError(error), isStartPretty(args, process.env));
	if (wantsJson(args)) return reportFailureAsJson(isCommander ? usageError(error) : error, helpOf(program, args));
	if (!isCommander) return reportFailure(error);
	// Commander has said why, but for `start`, of which the log does.
	return first === 'start' ? reportFailure(usageError(error)) : EXIT.usage;
}

/** The command line that shows the help of the command which these arguments name. */
function helpOf(program: Command, args: readonly string[]): string {
	const names = [typedCommand()];
	let command: Command | undefined = program;
	for (const arg of args) {
		command = command.commands.find((child) => child.name() === arg);
		if (command === undefined) break;
		names.push(arg);
	}
	return [...names, '--help'].join(' ');
}

function usageError({ message }: CommanderError): CommandError {
	const why =
		message === '(outputHelp)' ? 'a command is missing' : message.replace(/^error: /, '').replace(/\s*\n/g, ' ');
	return new CommandError(EXIT.usage, `${why} (--help lists the options)`);
}
