import { runSidecar, startSidecar, tempSocket, waitFor } from '@spock/testkit';
import { expect, it } from 'vitest';

it('with Consul away at the start one line says that it is not ready, and why; nothing is served that there is not', async () => {
	await using place = await tempSocket();
	await using sidecar = await startSidecar(place.path, ['--consul', 'http://127.0.0.1:1', '--log-format', 'json']);
	const lines = (part: string): string[] =>
		sidecar
			.stdout()
			.split('\n')
			.filter((line) => line.includes(part));
	await runSidecar(['get', 'barista', '--socket', place.path, '--timeout', '1500']).finished;
	await waitFor('a failed watch', () => lines('watch failed').length > 0);
	expect(lines('"msg":"not ready')).toEqual([expect.stringMatching(/"level":"warn".*ECONNREFUSED/)]);
	expect(lines('"msg":"ready')).toEqual([]);
	expect(lines('earlier registrations')).toHaveLength(1);
	expect(lines('watch failed')).toEqual([expect.stringContaining('no answer to serve yet')]);
	expect(sidecar.stdout()).not.toContain('the last known answer');
	const { stdout } = await sidecar.stop();
	expect(stdout).toContain('"msg":"stopped"');
});

it('one line says that it is ready', async () => {
	await using place = await tempSocket();
	await using sidecar = await startSidecar(place.path, ['--backend', 'local', '--log-format', 'json']);
	await waitFor('it', () => sidecar.stdout().includes('"msg":"ready"'));
	const { stdout } = await sidecar.stop();
	expect(stdout.match(/"msg":"(?:not )?ready/g)).toHaveLength(1);
});
