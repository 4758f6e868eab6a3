import { findProgram } from '@spock/testkit';
import { type Browser, chromium } from 'playwright-core';

const NAMES = ['chromium', 'chromium-browser', 'google-chrome', 'google-chrome-stable'];

/** The browser of this machine: `CHROMIUM_BIN`, or the first on the PATH. Throws if there is none: the suite is not skipped. */
export function findChromium(env: Readonly<Record<string, string | undefined>>): string {
	const found = env['CHROMIUM_BIN'] || findProgram(NAMES, env);
	if (found !== undefined) return found;
	throw new Error('there is no Chromium: apt-get install chromium, or name one with CHROMIUM_BIN');
}

/** Starts it without a network: nothing but this machine has a name or an address. */
export function launchChromium(): Promise<Browser> {
	return chromium.launch({
		executablePath: findChromium(process.env),
		// Root has no sandbox: Chromium refuses to start with one.
		chromiumSandbox: process.getuid?.() !== 0,
		args: ['--host-resolver-rules=MAP * ~NOTFOUND, EXCLUDE 127.0.0.1', '--disable-dev-shm-usage'],
	});
}
