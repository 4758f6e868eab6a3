import { endWithoutReader } from '../log/logger.ts';
import { asUsage, EXIT, outputIsLog, print, printable } from '../output/output.ts';
import { resolveSettings, unknownVariables } from '../settings/resolve-settings.ts';
import type { Settings } from '../settings/settings.ts';
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
		await printConfig(settings, flags.json === true);
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

async function printConfig(settings: Settings, isJson: boolean): Promise<void> {
	const { env } = process;
	const facts = { env, isTerminal: process.stdout.isTTY === true };
	const { describeSettings, settingsAsJson } = await import('./print-config.ts');
	// A bad variable of Consul, or address, is found here as it is by a start.
	await asUsage(() =>
		print(isJson ? JSON.stringify(settingsAsJson(settings, facts), null, 2) : describeSettings(settings, facts)),
	);
	for (const { variable, meant } of unknownVariables(env)) {
		const hint = meant === undefined ? '' : `; did you mean ${meant}?`;
		process.stderr.write(`unknown environment variable ${printable(variable)} ignored${hint}\n`);
	}
}
