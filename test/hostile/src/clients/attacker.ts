import { attacks } from './attacks.ts';
import { Crowd } from './crowd.ts';
import type { AttackCommand, AttackReply } from './messages.ts';

// A hostile process. It ends with its channel.
const connections = Number(process.argv[2]);
let crowd: Crowd | undefined;

function answer(reply: AttackReply): void {
	process.send?.(reply);
}

process.once('disconnect', () => process.exit());
process.on('message', async (command: AttackCommand) => {
	if (command.kind === 'stop') {
		crowd?.stop();
		answer({ kind: 'stopped', connects: crowd?.connects ?? 0, bytes: crowd?.bytes ?? 0 });
		return;
	}
	crowd = new Crowd(command.path, connections);
	answer({
		kind: 'attacking',
		note: await (attacks[command.attack]?.(crowd) ?? Promise.reject(new Error(command.attack))),
	});
});
answer({ kind: 'ready' });
