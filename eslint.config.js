// @ts-check
import js from "@eslint/js";
import { defineConfig } from "eslint/config";
import globals from "globals";
import tseslint from "typescript-eslint";

const nodeOnly =
  "Only js/node.ts, js/node-core.ts, js/node/ and js/cli/ may: the rest runs in browsers and workers too.";

export default defineConfig(
  { ignores: ["dist/", "console/dist/", ".wireit/", "target/", "js/core/", "**/node_modules/"] },
  {
    files: ["js/**/*.ts", "console/**/*.{ts,tsx}", "tests/**/*.ts"],
    extends: [tseslint.configs.strictTypeChecked, tseslint.configs.stylisticTypeChecked],
    languageOptions: { parserOptions: { projectService: true } },
    rules: {
      // `async` is also the short way to turn what is thrown into a rejection.
      "@typescript-eslint/require-await": "off",
      "@typescript-eslint/restrict-template-expressions": ["error", { allowNumber: true }],
    },
  },
  {
    // They also say that `for await (… of await …)` compiles, which has a needless `await`.
    files: ["tests/types/**/*.ts"],
    rules: { "@typescript-eslint/await-thenable": "off" },
  },
  {
    files: ["js/**/*.ts"],
    ignores: ["js/node.ts", "js/node-core.ts", "js/node/**", "js/cli/**"],
    rules: {
      "no-restricted-globals": ["error", ...["Buffer", "process"].map(restricted)],
      "no-restricted-imports": ["error", { patterns: [{ group: ["node:*"], message: nodeOnly }] }],
    },
  },
  {
    files: ["**/*.js", "**/*.mjs", "**/*.cjs"],
    extends: [js.configs.recommended],
    languageOptions: { globals: globals.node },
    rules: { "no-unused-vars": ["error", { varsIgnorePattern: "^_" }] },
  },
  {
    // What a terminal prints has control characters in it.
    files: ["tests/**/*.mjs"],
    rules: { "no-control-regex": "off" },
  },
);

/** @param {string} name */
function restricted(name) {
  return { name, message: nodeOnly };
}
