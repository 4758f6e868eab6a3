import { health } from './commands/health.ts';
import { wait } from './commands/wait.ts';
import { type LeanCommand, readLeanCommand } from './lean-arguments.ts';
import { EXIT } from './output/exit-codes.ts';
import { handleLostOutput, reportFailure } from './output/output.ts';

/**
 * The commands that probes and pods run over and over, in a bundle of its own: a probe each second must not pay for a command
 * line parser, help, and a dozen modules. `bin/sidecar.js` asks it first. False: it is nothing for here, such as `--help`, or
 * a flag that is wrong; nothing has happened then, and the whole command line takes it.
 */
export async function runLean(args: readonly string[]): Promise<boolean> {
	const command = readLeanCommand(args);
	if (command === undefined) return false;
	handleLostOutput();
	// Set and not forced: what stdout still holds is written before the process ends by itself.
	process.exitCode = await run(command).catch(reportFailure);
	return true;
}

async function run(command: LeanCommand): Promise<number> {
	if (command.name === 'wait') return wait(command.command, command.flags);
	await health(command.flags);
	return EXIT.ok;
}
