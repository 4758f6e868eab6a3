import { endWithoutReader } from '../log/logger.ts';
import { EXIT, outputIsLog, print } from '../output/output.ts';
import { describeSettings, resolveSettings, settingsAsJson } from '../settings/resolve-settings.ts';
import { isPretty, isStartPretty, reportStartFailure } from './start-failure.ts';

/** Flags that are no settings. */
export interface StartFlags extends Readonly<Record<string, unknown>> {
	readonly config?: string;
	readonly printConfig?: boolean;
	readonly json?: boolean;
}

/** `sidecar start`: runs until a signal. Gives the exit code. */
export async function startCommand(flags: StartFlags): Promise<number> {
	let isForPeople = isStartPretty(process.argv, process.env);
	try {
		return await begin(flags, (isPrettyLog) => {
			isForPeople = isPrettyLog;
		});
	} catch (error) {
		if (flags.printConfig) throw error;
		return reportStartFailure(error, isForPeople);
	}
}

/** Calls `formatted` with whether the log is for people, once that is known. */
async function begin(flags: StartFlags, formatted: (isForPeople: boolean) => void): Promise<number> {
	const { env } = process;
	// An empty variable counts as absent, as that of any setting does.
	const file = flags.config ?? (env['SPOCK_CONFIG'] || undefined);
	const values =
		file === undefined
			? undefined
			: { name: file, values: (await import('../settings/read-config.ts')).readConfig(file) };
	const settings = resolveSettings({ flags, env, ...(values && { file: values }) });
	if (flags.printConfig) {
		print(flags.json ? JSON.stringify(settingsAsJson(settings), null, 2) : describeSettings(settings));
		return EXIT.ok;
	}
	outputIsLog();
	try {
		const isTerminal = process.stdout.isTTY === true;
		formatted(isPretty(settings.logFormat.value, isTerminal));
		return await (await import('./start.ts')).start(settings, isTerminal);
	} finally {
		endWithoutReader();
	}
}
