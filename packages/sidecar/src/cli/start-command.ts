import { EXIT } from './exit-codes.ts';
import { DEFAULT_LOG_LEVEL, isPretty } from './log-format.ts';
import { endWithoutReader } from './log-output.ts';
import { outputIsLog } from './lost-output.ts';
import { describeSettings, resolveSettings, settingsAsJson } from './resolve-settings.ts';
import type { Settings } from './setting-values.ts';
import { isStartPretty, reportStartFailure } from './start-failure.ts';
import { print } from './with-client.ts';

/** Flags that are no settings. */
export interface StartFlags extends Readonly<Record<string, unknown>> {
	readonly config?: string;
	readonly printConfig?: boolean;
	readonly json?: boolean;
	/** Given by a supervisor to its workers. */
	readonly supervised?: boolean;
}

/** `sidecar start`: runs until a signal. Gives the exit code. What a supervisor does not need it does not load. */
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

/** `formatted` is told, once it is known, whether the log is for people. */
async function begin(flags: StartFlags, formatted: (isForPeople: boolean) => void): Promise<number> {
	const { env } = process;
	const file = flags.config ?? env['SPOCK_CONFIG'];
	const values =
		file === undefined ? undefined : { name: file, values: (await import('./read-config.ts')).readConfig(file) };
	const settings = resolveSettings({ flags, env, ...(values && { file: values }) });
	if (flags.printConfig) {
		print(flags.json ? JSON.stringify(settingsAsJson(settings), null, 2) : describeSettings(settings));
		return EXIT.ok;
	}
	outputIsLog();
	try {
		return await startBy(settings, flags.supervised === true, formatted);
	} finally {
		endWithoutReader();
	}
}

async function startBy(
	settings: Settings,
	isSupervised: boolean,
	formatted: (isForPeople: boolean) => void,
): Promise<number> {
	const isTerminal = process.stdout.isTTY === true;
	formatted(isPretty(settings, isTerminal));
	if (settings.get('supervise')?.value !== true || isSupervised) {
		return (await import('./start.ts')).start(settings, isTerminal, isSupervised);
	}
	const value = <T>(name: string): T | undefined => settings.get(name)?.value as T | undefined;
	return (await import('./supervise/supervise.ts')).supervise({
		stableMs: value<number>('superviseStableMs'),
		hangMs: value<number>('superviseHangMs'),
		standby: value<string>('superviseStandby') !== 'off',
		logLevel: value<string>('logLevel') ?? DEFAULT_LOG_LEVEL,
		isPretty: isPretty(settings, isTerminal),
	});
}
