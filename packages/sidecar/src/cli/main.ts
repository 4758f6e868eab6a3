import { queryMembers } from '@spock/protocol/internal';
import { Command } from 'commander';

import { SIDECAR_VERSION } from '../foundation/version.ts';
import { addCompletion } from './completion-command.ts';
import { COMPLETION_COMMAND } from './completion-scripts.ts';
import { completeHelp, helpFormat, helpOutput, paragraph } from './help-format.ts';
import { commandName } from './output/command-name.ts';
import { EXIT, handleLostOutput } from './output/output.ts';
import { reportError, wantsJson } from './report-error.ts';
import { addSettingFlags } from './start-flags.ts';

/** Where `top` looks for the admin server: the port of the image, the manifests and the docs. */
const DEFAULT_ADMIN = '127.0.0.1:9464';

const EXIT_CODES = paragraph(
	'Exit codes: 0 an answer, 1 no such service or unhealthy, 2 wrong usage, 3 no sidecar at that address.',
);

const DOCTOR_EXIT_CODES = paragraph(
	'Exit codes: 0 all is well, or there are only warnings, 1 something is wrong, 2 wrong usage.',
);

const EVENTS_EXIT_CODES = paragraph(
	'Exit codes: 0 done, 1 refused by the sidecar, or no such stream or group, 2 wrong usage, 3 no sidecar at that address.',
);

const CHECK_EXIT_CODES = paragraph(
	'Exit codes: 0 nothing is damaged, 1 something is, or there is no log, or a sidecar uses it, 2 wrong usage.',
);

const WAIT_EXIT_CODES = paragraph(
	'Exit codes: that of the command, or 128 and the number of the signal that ended it. 124 not ready in time, 126 the command cannot be started, 127 it was not found, 2 wrong usage, 1 refused by the sidecar.',
);

const TYPEGEN_EXIT_CODES = paragraph(
	'Exit codes: 0 written or up to date, 1 out of date (with --check), 2 wrong usage or a bad services file, 3 no sidecar there.',
);

// Each command's module is loaded when it runs: `sidecar health` is started every second by a probe, and must not pay for
// what only `start` needs.
const program = new Command(commandName())
	.description('Spock, the service discovery sidecar')
	.version(SIDECAR_VERSION)
	.configureHelp(helpFormat)
	// With --json the one object on stderr says it all.
	.configureOutput({ ...helpOutput, ...(wantsJson(process.argv.slice(2)) && { writeErr: () => undefined }) })
	.showHelpAfterError('(--help lists the options)')
	.addHelpText('after', EXIT_CODES)
	.exitOverride();

/** A command that finds a running sidecar. */
function targetCommand(name: string, description: string, parent: Command = program): Command {
	return parent
		.command(name)
		.description(description)
		.option(
			'--socket <path>',
			'socket of the sidecar (default: SPOCK_SOCKET, /uds/sidecar.sock in a pod, else per user)',
		)
		.option('--connect <address>', 'TCP address of the sidecar, HOST:PORT or tls://HOST:PORT, in place of the socket')
		.option('--token-file <file>', 'file with the token that the sidecar requires (or SPOCK_TOKEN_FILE, SPOCK_TOKEN)')
		.option('--tls-ca <file>', 'authorities to trust for tls://, in PEM (or SPOCK_CONNECT_CA)')
		.option('--tls-cert <file>', 'certificate of this client, in PEM (or SPOCK_CONNECT_CERT)')
		.option('--tls-key <file>', 'private key of that certificate, in PEM (or SPOCK_CONNECT_KEY)')
		.exitOverride();
}

/** A command that asks a running sidecar. */
function clientCommand(name: string, description: string, parent: Command = program, exitCodes = EXIT_CODES): Command {
	return targetCommand(name, description, parent)
		.option('--timeout <duration>', 'how long to wait for an answer, as 500ms or 10s (default: 5s)')
		.option('--json', 'print data as JSON')
		.addHelpText('after', exitCodes);
}

/** A client command that asks for one service. */
function queryCommand(name: string, description: string, service = '<service>', exitCodes = EXIT_CODES): Command {
	const command = clientCommand(name, description, program, exitCodes).argument(service);
	for (const { kind, flag, about } of queryMembers) {
		if (kind === 'name') command.option(`--${flag} <name>`, about);
		else {
			const placeholder = kind === 'pairs' ? 'name=value' : flag;
			command.option(`--${flag} <${placeholder}>`, `${about}; may be given again`, collect);
		}
	}
	return command;
}

/** A query command that answers as a client of this zone, or with this subset, sees it. */
function clientViewCommand(name: string, description: string): Command {
	return queryCommand(name, description)
		.option('--zone <zone>', 'as a client of this zone that prefers it (zonePolicy: prefer)')
		.option('--subset <count>', 'as a client with a subset of so many instances')
		.option('--subset-key <key>', 'what that subset is drawn by (subsetKey)');
}

function collect(value: string, before: readonly string[] = []): readonly string[] {
	return [...before, value];
}

async function main(): Promise<number> {
	let exitCode: number = EXIT.ok;
	const setExitCode = (code: number): void => {
		exitCode = code;
	};
	clientViewCommand('get', 'print one healthy instance of a service as host:port')
		.option('--key <key>', 'equal keys get the same instance')
		.option('--max-age-ms <duration>', 'the registry must have confirmed it within this time, or be asked now')
		.action(async (service, flags) => (await import('./commands/ask.ts')).get(service, flags));
	clientCommand('list', 'print all services with their tags, and the health of those that the sidecar watches')
		.option('--datacenter <name>', 'look in this datacenter')
		.option('--health', 'look up the health of each service; those in trouble come first')
		.action(async (flags) => (await import('./commands/list.ts')).list(flags));
	queryCommand('watch', 'print a line for each change of a service, until Ctrl-C').action(async (service, flags) =>
		(await import('./commands/watch.ts')).watch(service, flags),
	);
	clientViewCommand(
		'explain',
		'show for each instance of a service whether it gets work and why, and which clients watch',
	).action(async (service, flags) => (await import('./commands/explain.ts')).explain(service, flags));
	clientCommand('register', 'register an instance of a service while this command runs; Ctrl-C deregisters it')
		.argument('<service>')
		.requiredOption('--port <port>', 'where it listens')
		.option('--host <host>', 'its address (default: what the sidecar advertises)')
		.option('--id <id>', 'names the instance (default: made of service, machine and port)')
		.option('--tag <tag>', 'may be given again', collect)
		.option('--meta <name=value>', 'may be given again', collect)
		.option('--weight <weight>', 'share of the work while passing')
		.option('--check <url>', 'http://…, https://… or tcp://host:port, which the registry checks too')
		.action(async (service, flags) => (await import('./commands/register.ts')).register(service, flags));
	addKeyCommands();
	addEventCommands();
	clientCommand('status', "print the sidecar's state: backend, connections, watches, registrations").action(
		async (flags) => (await import('./commands/status.ts')).status(flags),
	);
	clientCommand('call', 'call any function of the protocol and print its reply')
		.argument('<func>', 'as in docs/PROTOCOL.md: ping, getInstances, …')
		.argument('[json]', 'its data')
		.action(async (func, json, flags) => (await import('./commands/ask.ts')).call(func, json, flags));
	queryCommand(
		'doctor',
		'check the way of a lookup from the socket to an instance, and say what to do',
		'[service]',
		DOCTOR_EXIT_CODES,
	).action(async (service, flags) =>
		setExitCode(await (await import('./commands/doctor/doctor.ts')).doctor(service, flags)),
	);
	clientCommand('health', 'exit with 0 if the sidecar is ready; for an exec probe').action(async (flags) =>
		(await import('./commands/health.ts')).health(flags),
	);
	program
		.command('top')
		.description('show services, connections and changes on the whole terminal, each second, until q')
		.option('--admin <host:port>', `admin server of the sidecar (default: SPOCK_ADMIN, else ${DEFAULT_ADMIN})`)
		.option('--timeout <duration>', 'how long to wait for an answer, as 500ms or 10s (default: 5s)')
		.option('--once', 'print it once, as when the output is not a terminal')
		.option('--json', 'print data as JSON')
		.addHelpText('after', EXIT_CODES)
		.exitOverride()
		.action(async ({ admin = process.env['SPOCK_ADMIN'] || DEFAULT_ADMIN, ...flags }) =>
			(await import('./top/top.ts')).top({ admin, ...flags }),
		);
	clientCommand(
		'record',
		'write every change of services into a file, until Ctrl-C, to be replayed with --backend replay',
	)
		.argument('<file>', 'a new file')
		.option('--service <name>', 'record this service; may be given again (default: all services)', collect)
		.option('--max-bytes <bytes>', 'end when the file would be longer (default: 268435456)')
		.action(async (file, flags) => (await import('./commands/record.ts')).record(file, flags));
	addTypegen();
	targetCommand('wait', 'wait until the sidecar is ready, then run a command in its place: sidecar wait -- node app.js')
		.argument('[command...]', 'behind --; signals go to it, and its exit code is the exit code')
		.option('--timeout <duration>', 'how long to wait, as 90s or 500ms; 0 for no end (default: 60s)')
		.addHelpText('after', WAIT_EXIT_CODES)
		.action(async (command, flags) => setExitCode(await (await import('./commands/wait.ts')).wait(command, flags)));
	await addStart(setExitCode);
	addCompletion(program);
	completeHelp(program);
	await program.parseAsync();
	return exitCode;
}

/** `sidecar kv get` and `sidecar kv watch`. */
function addKeyCommands(): void {
	const kv = program.command('kv').description('read keys of the registry').exitOverride();
	clientCommand('get', 'print the value of a key', kv)
		.argument('<key>')
		.option('--prefix', 'print every key that begins with it, each with its value')
		.option('--datacenter <name>', 'look in this datacenter')
		.action(async (key, flags) => (await import('./commands/kv.ts')).getKey(key, flags));
	clientCommand('watch', 'print a line for each change of a key, until Ctrl-C', kv)
		.argument('<key>')
		.option('--prefix', 'follow every key that begins with it')
		.option('--datacenter <name>', 'look in this datacenter')
		.action(async (key, flags) => (await import('./commands/kv.ts')).watchKey(key, flags));
}

/** `sidecar events …`. */
function addEventCommands(): void {
	const events = program.command('events').description('streams of events, their groups and their log').exitOverride();
	const eventCommand = (name: string, description: string): Command =>
		clientCommand(name, description, events, EVENTS_EXIT_CODES);
	eventCommand('status', 'print the state of the log, its streams and groups').action(async (flags) =>
		(await import('./commands/events/show-events.ts')).eventsStatus(flags),
	);
	eventCommand('publish', 'publish an event and print its position, or one for each line of the input')
		.argument('<stream>')
		.argument('[json]', 'the event (default: each line of the input is one)')
		.option('--key <key>', 'events of one key keep their order')
		.option('--id <id>', 'an event with an id that was seen within two minutes is stored once')
		.option('--header <name=value>', 'may be given again', collect)
		.action(async (stream, json, flags) =>
			(await import('./commands/events/publish-events.ts')).publishEvents(stream, json, flags),
		);
	eventCommand('tail', 'print a line for each event of a stream, until Ctrl-C')
		.argument('<stream>')
		.option('--from <place>', 'first, new, a position, or a time as 2026-01-31T12:00:00Z (default: new)')
		.option('--key <key>', 'only events of this key; may be given again', collect)
		.option('--count <count>', 'end after so many events')
		.action(async (stream, flags) => (await import('./commands/events/tail-events.ts')).tailEvents(stream, flags));
	eventCommand('groups', 'print the place of each group, and what it has not done')
		.argument('[stream]')
		.action(async (stream, flags) => (await import('./commands/events/event-groups.ts')).eventGroups(stream, flags));
	eventCommand('rewind', 'move a group to another place in its stream')
		.argument('<stream>')
		.argument('<group>')
		.requiredOption('--to <place>', 'first, new, a position, or a time as 2026-01-31T12:00:00Z')
		.action(async (stream, group, flags) =>
			(await import('./commands/events/event-groups.ts')).rewindGroup(stream, group, flags),
		);
	eventCommand('delete-group', 'forget a group without consumers: no event is kept for it any more')
		.argument('<stream>')
		.argument('<group>')
		.action(async (stream, group, flags) =>
			(await import('./commands/events/event-groups.ts')).deleteGroup(stream, group, flags),
		);
	eventCommand('dead', 'print the events of a stream that were given up, and why')
		.argument('<stream>')
		.option('--retry', 'publish each again, and take it out of the dead ones')
		.action(async (stream, flags) => (await import('./commands/events/dead-events.ts')).deadEvents(stream, flags));
	events
		.command('check')
		.description('read the whole log of a sidecar that is not running, and print what is damaged; writes nothing')
		.argument('<directory>')
		.option('--json', 'print data as JSON')
		.addHelpText('after', CHECK_EXIT_CODES)
		.exitOverride()
		.action(async (directory, flags) => (await import('./commands/events/check-log.ts')).checkLog(directory, flags));
}

/** `sidecar typegen`: asks a sidecar only where it is given no file. */
function addTypegen(): void {
	targetCommand('typegen', 'generate TypeScript types so that misspelt service names fail to compile')
		.option('--services <file>', 'a services file in JSON or YAML, in place of a sidecar')
		.option('--out <file>', 'the module to write (default: stdout)')
		.option('--check', 'write nothing; exit with 1 if the module is out of date')
		.option('--timeout <duration>', 'how long to wait for a sidecar, as 500ms or 10s (default: 5s)')
		.addHelpText('after', TYPEGEN_EXIT_CODES)
		.action(async (flags) => (await import('./commands/typegen.ts')).typegen(flags));
}

/** `start` has a flag for each setting; the table is loaded only when it is asked for, for help, or to be completed. */
async function addStart(setExitCode: (code: number) => void): Promise<void> {
	const command = program
		.command('start')
		.description('run the sidecar until SIGTERM or Ctrl-C')
		.option('--config <file>', 'settings in JSON or YAML (or SPOCK_CONFIG)')
		.option('--print-config', 'show the settings in force and where each comes from, then end')
		.option('--json', 'with --print-config: as JSON')
		// A wrong flag is reported as any other failure of a start.
		.configureOutput({ writeErr: () => undefined })
		.exitOverride();
	if (SETTING_READERS.has(process.argv[2])) await addSettingFlags(command);
	command.action(async (flags) => setExitCode(await (await import('./start/start-command.ts')).startCommand(flags)));
}

const SETTING_READERS: ReadonlySet<string | undefined> = new Set(['start', 'help', COMPLETION_COMMAND]);

handleLostOutput();
// Set and not forced: what stdout still holds is written before the process ends by itself.
process.exitCode = await main().catch((error) => reportError(error, process.argv.slice(2), program));
