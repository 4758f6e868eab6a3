/** The text of a file: by the build's plugin in tsup.config.ts, and by Vite in tests. */
declare module '*?raw' {
	const text: string;
	export default text;
}
