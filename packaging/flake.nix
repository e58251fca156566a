{
  description = "@DESCRIPTION@";

  inputs.nixpkgs.url = "github:NixOS/nixpkgs/nixos-unstable";

  outputs = { self, nixpkgs }:
    let
      version = "@VERSION@";
      # The archives of the release; on Linux the programs are static, so they run as they are.
      sources = {
        @SOURCES@
      };
      package = system: pkgs: pkgs.stdenvNoCC.mkDerivation {
        pname = "throughline";
        inherit version;
        src = pkgs.fetchurl sources.${system};
        dontConfigure = true;
        dontBuild = true;
        dontFixup = true;
        installPhase = ''
          mkdir -p $out
          cp -R bin share $out/
        '';
        meta = {
          description = "@DESCRIPTION@";
          license = pkgs.lib.licenses.asl20;
          mainProgram = "throughline";
          platforms = builtins.attrNames sources;
        };
      };
    in {
      packages = builtins.mapAttrs
        (system: _: rec {
          throughline = package system nixpkgs.legacyPackages.${system};
          default = throughline;
        })
        sources;
    };
}
