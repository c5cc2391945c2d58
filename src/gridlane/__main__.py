"""``python -m gridlane`` is the command ``gridlane``."""

from gridlane.cli.main import main

if __name__ == "__main__":
    main()
