import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';

import { describe, expect, it } from 'vitest';

import { DEFAULT_POLICY } from '../../packages/balancer/src/index.ts';
import {
	DEFAULT_EMPTY_HOLD_MS,
	DEFAULT_ENTRIES_MAX,
	DEFAULT_IDLE_TTL_MS,
	DEFAULT_KEY_ENTRIES_MAX,
} from '../../packages/discovery/src/backend-source.ts';
import { DEFAULT_CONSUL_ADDRESS } from '../../packages/discovery/src/backends/consul/client/consul-options.ts';
import { consulOptionsFromEnvironment } from '../../packages/discovery/src/backends/consul/consul-backend-options.ts';
import { DEFAULT_HELD_MAX } from '../../packages/discovery/src/backends/consul/http/held-room.ts';
import { DEFAULT_SHARED_QUERIES_PER_MINUTE_MAX } from '../../packages/discovery/src/backends/consul/watches/service-watches.ts';
import {
	DEFAULT_DNS_TTL_MS_MAX,
	DEFAULT_DNS_TTL_MS_MIN,
} from '../../packages/discovery/src/backends/dns/dns-options.ts';
import { DEFAULT_NAME_TEMPLATE } from '../../packages/discovery/src/backends/dns/name-template.ts';
import {
	DEFAULT_RECONNECT_GRACE_MS,
	DEFAULT_REGISTRATIONS_MAX,
	DEFAULT_REGISTRATIONS_PER_HOLDER_MAX,
	DEFAULT_TTL_MS,
} from '../../packages/discovery/src/registration/registrations-options.ts';
import { DEFAULT_METRICS_SERVICES_MAX } from '../../packages/sidecar/src/admin/metrics/oldest-services.ts';
import { limitSettings, limitsOf } from '../../packages/sidecar/src/cli/settings/limit-settings.ts';
import {
	DEFAULT_LOG_LEVEL,
	DEFAULT_SLOW_REQUEST_MS,
} from '../../packages/sidecar/src/cli/settings/reporting-settings.ts';
import { resolveSettings } from '../../packages/sidecar/src/cli/settings/resolve-settings.ts';
import { settings } from '../../packages/sidecar/src/cli/settings/settings.ts';
import { DEFAULT_WARM_UP_MS } from '../../packages/sidecar/src/cli/start/take-over-options.ts';
import { resolveLimits } from '../../packages/sidecar/src/foundation/limits.ts';
import { CONSUL_VARIABLES, settingAreas, settingsSection } from './settings-section.ts';

const root = join(import.meta.dirname, '../..');
const section = settingsSection(root);
const limits = resolveLimits();
const atTerminal = limitsOf(resolveSettings({ flags: {}, env: {} }), true);

/** What the code does where a setting is not given; every setting of a number has its place here. */
const DEFAULTS: Readonly<Record<string, string | number>> = {
	...Object.fromEntries(limitSettings.map(({ name }) => [name, limits[name as keyof typeof limits]])),
	graceMs: `${limits.graceMs}; ${atTerminal.graceMs} on a terminal`,
	drainTimeoutMs: `${limits.drainTimeoutMs}; ${atTerminal.drainTimeoutMs} on a terminal`,
	connectionsMax: `${limits.connectionsMax}, less where the process may open fewer files`,
	policy: DEFAULT_POLICY,
	consul: DEFAULT_CONSUL_ADDRESS,
	consulHeldMax: DEFAULT_HELD_MAX,
	consulSharedQueriesMax: DEFAULT_SHARED_QUERIES_PER_MINUTE_MAX,
	dnsNameTemplate: `Consul's, ${DEFAULT_NAME_TEMPLATE}`,
	dnsTtlMsMin: DEFAULT_DNS_TTL_MS_MIN,
	dnsTtlMsMax: DEFAULT_DNS_TTL_MS_MAX,
	idleTtlMs: DEFAULT_IDLE_TTL_MS,
	staleMaxMs: 'no limit',
	emptyHoldMs: DEFAULT_EMPTY_HOLD_MS,
	entriesMax: DEFAULT_ENTRIES_MAX,
	entriesPerClientMax: 'half of them',
	keyEntriesMax: DEFAULT_KEY_ENTRIES_MAX,
	keyEntriesPerClientMax: 'half of them',
	reconnectGraceMs: DEFAULT_RECONNECT_GRACE_MS,
	registrationTtlMs: DEFAULT_TTL_MS,
	registrationsMax: DEFAULT_REGISTRATIONS_MAX,
	registrationsPerHolderMax: DEFAULT_REGISTRATIONS_PER_HOLDER_MAX,
	takeOverWarmUpMs: DEFAULT_WARM_UP_MS,
	logLevel: DEFAULT_LOG_LEVEL,
	slowRequestMs: DEFAULT_SLOW_REQUEST_MS,
	metricsServicesMax: DEFAULT_METRICS_SERVICES_MAX,
};

describe('the settings in docs/reference/settings.md', () => {
	it('are what the code says; otherwise run `npm run settings-table`', () => {
		const page = readFileSync(join(root, 'docs/reference/settings.md'), 'utf8');
		expect(page).toContain(`<!-- settings -->\n\n${section}\n\n<!-- end -->`);
	});

	it('are each in one area', () => {
		const names = settingAreas().flatMap(([, group]) => group.map(({ name }) => name));
		expect(names.toSorted()).toEqual(settings.map(({ name }) => name).toSorted());
	});

	it('are called in the config file as their flag is, in camel case', () => {
		for (const { name, flag } of settings) {
			if (flag === undefined) continue;
			const [long = ''] = /(?<=^--)[a-z-]+/.exec(flag) ?? [];
			expect(long.replaceAll(/-([a-z])/g, (_, letter: string) => letter.toUpperCase())).toBe(name);
		}
	});

	it('have the defaults that the code uses', () => {
		for (const { name, kind, fallback } of settings) {
			if (kind === 'integer') expect(DEFAULTS, `the default of ${name}`).toHaveProperty(name);
			if (name in DEFAULTS) expect([name, fallback]).toEqual([name, String(DEFAULTS[name])]);
			// What is not given is off.
			if (kind === 'boolean') expect([name, fallback]).toEqual([name, 'false']);
		}
	});

	it('have every variable of Consul that is read', () => {
		const read = new Set<string>();
		const env = new Proxy<Record<string, string>>({}, { get: (_, name) => void read.add(String(name)) });
		consulOptionsFromEnvironment(env);
		const withFlag = settings.map(({ env }) => env).filter((name) => name.startsWith('CONSUL_'));
		expect([...read].toSorted()).toEqual([...withFlag, ...Object.keys(CONSUL_VARIABLES)].toSorted());
	});

	it('have every variable that any source names, and every flag of the command that is for people', () => {
		const flags = readFileSync(join(root, 'packages/sidecar/src/cli/main.ts'), 'utf8');
		const [, shared = ''] = /function targetCommand\(([\s\S]*?)\n\}\n[\s\S]*?\n\}/.exec(flags) ?? [];
		const names = [...shared.matchAll(/'--[a-z-]+/g)].map(([flag]) => flag.slice(1));
		expect(names.length).toBeGreaterThan(5);
		for (const name of names) expect(section).toMatch(new RegExp(`\`${name}[ \`]`));
		for (const file of sources()) {
			for (const [name] of readFileSync(file, 'utf8').matchAll(/\bSPOCK_[A-Z_]*[A-Z]\b/g)) {
				expect(section, `${name} of ${file}`).toContain(`\`${name}\``);
			}
		}
	});

	it('tell the defaults of the client as its docstrings do', () => {
		const rows = [...section.matchAll(/^\| `\w+` \| (\d+) \| (.*) \|$/gm)];
		expect(rows.length).toBeGreaterThan(10);
		for (const [row, value, meaning = ''] of rows) {
			const told = /Default (\d+)( MiB)?/.exec(meaning);
			expect(Number(told?.[1]) * (told?.[2] === undefined ? 1 : 1024 * 1024), row).toBe(Number(value));
		}
	});
});

/** The source files of what people run. */
function sources(): string[] {
	return ['client', 'protocol', 'discovery', 'sidecar'].flatMap((name) => {
		const directory = join(root, 'packages', name, 'src');
		const files = readdirSync(directory, { recursive: true, encoding: 'utf8' });
		return files.filter((file) => /(?<!test)\.ts$/.test(file)).map((file) => join(directory, file));
	});
}
