import { type RunningProcess, sidecarBin, spawnProcess } from '@spock/testkit';

/**
 * Runs a command of the sidecar at a terminal of its own (`script`, of which it is the only child): what is written to its
 * standard input is typed. Its output has the CR that a terminal adds to a line's end.
 */
export function atTerminal(args: readonly string[], env?: Readonly<Record<string, string>>): RunningProcess {
	const command = `exec ${[process.execPath, sidecarBin, ...args].join(' ')}`;
	return spawnProcess('script', ['--quiet', '--return', '--flush', '--command', command, '/dev/null'], {
		keepInput: true,
		env: { TERM: 'xterm', ...env },
	});
}
